// SPDX-License-Identifier: GPL-2.0
/*
 * The agent on arm64: the device tree says where the shared area is; the log's dump tells of
 * the one way to restart that no notifier announces, and handlers of all ways are the net below;
 * each CPU switches itself off, by the firmware, when it is over or when KLoader interrupts it
 * for that.
 */
#include <linux/cpuhotplug.h>
#include <linux/interrupt.h>
#include <linux/kmsg_dump.h>
#include <linux/of.h>
#include <linux/of_address.h>
#include <linux/percpu.h>
#include <linux/reboot.h>
#include <asm/sysreg.h>
#include <shimos/arm64_psci.h>
#include <shimos/arm64_sgi.h>
#include <shimos/compat.h>
#include <uapi/shimos_arm64.h>

#include "agent.h"

/* Its fields of the table's address, which can be longer than the other fields leave room for. */
#define ARM64_TTBR_LOW	GENMASK_ULL(47, 6)
#define ARM64_TTBR_HIGH	GENMASK_ULL(5, 2)

/* Before the firmware's own handlers, if there are any. */
#define ARM64_OFF_FIRST	255

static enum arm_smccc_conduit arm64_conduit;

int agent_arch_find_shared(u64 *addr, u64 *size)
{
	struct device_node *node = of_find_compatible_node(NULL, NULL, SHIMOS_ARM64_COMPATIBLE);
	struct resource at;
	int ret;

	if (!node)
		return -ENODEV;
	ret = of_address_to_resource(node, 0, &at);
	of_node_put(node);
	if (ret)
		return ret;
	*addr = at.start;
	*size = resource_size(&at);
	arm64_conduit = shimos_psci_conduit();
	return 0;
}

/* KLoader asks for no CPU here: see kloader_arch_check_resize(). */
u64 agent_arch_hardware_id(unsigned int cpu)
{
	return AGENT_NO_HARDWARE_ID;
}

/* Partitions here have no devices: see kloader_arch_check_devices(). */
int agent_arch_take_interrupts(void)
{
	return 0;
}

/* ---- restarts ---- */

static void (*arm64_end)(enum shimos_cause cause);
static struct sys_off_handler *arm64_restart, *arm64_power_off;

/* An emergency's restart, as by sysrq-b, dumps the log first: then all CPUs still hear. */
static void arm64_on_dump(COMPAT_KMSG_DUMP_ARGS)
{
	if (COMPAT_KMSG_DUMP_REASON == KMSG_DUMP_EMERG)
		arm64_end(SHIMOS_CAUSE_REBOOT);
}

static struct kmsg_dumper arm64_dumper = {
	.dump		= arm64_on_dump,
	.max_reason	= KMSG_DUMP_EMERG,
};

/* Whatever comes so far; by then the other CPUs are in a loop of their kernel's. */
static int arm64_on_off(struct sys_off_data *data)
{
	arm64_end(data->mode == SYS_OFF_MODE_RESTART ? SHIMOS_CAUSE_REBOOT :
						       SHIMOS_CAUSE_POWEROFF);
	return NOTIFY_DONE;
}

static void arm64_unregister(struct sys_off_handler **handler)
{
	if (*handler)
		unregister_sys_off_handler(*handler);
	*handler = NULL;
}

static int arm64_register(enum sys_off_mode mode, struct sys_off_handler **handler)
{
	struct sys_off_handler *made = register_sys_off_handler(mode, ARM64_OFF_FIRST, arm64_on_off,
							    NULL);

	if (IS_ERR(made))
		return PTR_ERR(made);
	*handler = made;
	return 0;
}

/* A kernel that nobody can switch off takes each power-off for a halt. */
int agent_arch_catch_restart(void (*end)(enum shimos_cause cause))
{
	int ret;

	arm64_end = end;
	ret = arm64_register(SYS_OFF_MODE_RESTART, &arm64_restart) ?:
	      arm64_register(SYS_OFF_MODE_POWER_OFF, &arm64_power_off) ?:
	      kmsg_dump_register(&arm64_dumper);
	if (ret) {
		arm64_unregister(&arm64_power_off);
		arm64_unregister(&arm64_restart);
	}
	return ret;
}

/* ---- standing still ---- */

static void (*arm64_stop)(void);
static DEFINE_PER_CPU(u32, arm64_stop_cpu);
static int arm64_stop_irq, arm64_hotplug_state;

static irqreturn_t arm64_on_stop(int irq, void *data)
{
	arm64_stop();
	return IRQ_HANDLED;
}

/* One that firmware keeps from hearing is stopped in another way. */
static int arm64_cpu_online(unsigned int cpu)
{
	__this_cpu_write(arm64_stop_cpu, shimos_sgi_enable(arm64_stop_irq));
	return 0;
}

static int arm64_cpu_offline(unsigned int cpu)
{
	if (__this_cpu_read(arm64_stop_cpu))
		disable_percpu_irq(arm64_stop_irq);
	return 0;
}

/* Where all code of this kernel is found. */
static void arm64_publish_tables(void)
{
	struct shimos_arm64 *said = (void *)agent_shared + SHIMOS_PLATFORM;
	u64 tables = read_sysreg(ttbr1_el1);

	WRITE_ONCE(said->control, read_sysreg(tcr_el1));
	WRITE_ONCE(said->tables, (tables & ARM64_TTBR_LOW) | (tables & ARM64_TTBR_HIGH) << 46);
}

int agent_arch_catch_stop(void (*stop)(void))
{
	int ret = shimos_sgi_map(SHIMOS_ARM64_STOP_SGI);

	if (ret < 0)
		return ret;
	arm64_stop_irq = ret;
	arm64_stop = stop;
	ret = request_percpu_irq(arm64_stop_irq, arm64_on_stop, "shimos-stop", &arm64_stop_cpu);
	if (ret)
		goto dispose;
	ret = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "shimos/agent:online", arm64_cpu_online,
				arm64_cpu_offline);
	if (ret < 0)
		goto free_irq;
	arm64_hotplug_state = ret;
	arm64_publish_tables();
	return 0;

free_irq:
	free_percpu_irq(arm64_stop_irq, &arm64_stop_cpu);
dispose:
	irq_dispose_mapping(arm64_stop_irq);
	arm64_stop = NULL;
	return ret;
}

/* Also called when nothing has been caught: all say so and do nothing. */
void agent_arch_release(void)
{
	if (arm64_stop) {
		cpuhp_remove_state(arm64_hotplug_state);
		free_percpu_irq(arm64_stop_irq, &arm64_stop_cpu);
		irq_dispose_mapping(arm64_stop_irq);
	}
	arm64_stop = NULL;
	kmsg_dump_unregister(&arm64_dumper);
	arm64_unregister(&arm64_power_off);
	arm64_unregister(&arm64_restart);
}

/* The firmware does not come back from it. */
void agent_arch_let_go(void)
{
	shimos_psci_call(arm64_conduit, PSCI_0_2_FN_CPU_OFF, 0, 0, 0);
}
