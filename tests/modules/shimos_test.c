// SPDX-License-Identifier: GPL-2.0
/*
 * A partition's kernel gone bad, on purpose: loaded inside a partition with
 * do=… by the system tests.
 */
#include <linux/acpi.h>
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/of_address.h>
#include <linux/random.h>
#include <linux/sizes.h>
#include <linux/smp.h>
#include <uapi/shimos_acpi.h>
#include <uapi/shimos_arm64.h>
#include <uapi/shimos_shared.h>

static char *what = "";
module_param_named(do, what, charp, 0);

static struct shimos_shared *shared;
static u64 shared_addr;

/* By a device tree, as on arm64, or else by ACPI's tables. */
static int find_shared(void)
{
	struct device_node *node = of_find_compatible_node(NULL, NULL, SHIMOS_ARM64_COMPATIBLE);
	struct acpi_table_header *header;
	struct resource at;
	int ret;

	if (node) {
		ret = of_address_to_resource(node, 0, &at);
		of_node_put(node);
		shared_addr = at.start;
		return ret;
	}
	if (ACPI_FAILURE(acpi_get_table(SHIMOS_ACPI_SIGNATURE, 1, &header)))
		return -ENODEV;
	shared_addr = ((struct shimos_acpi_table *)header)->shared;
	acpi_put_table(header);
	return 0;
}

static int map_shared(void)
{
	int ret = find_shared();

	if (ret)
		return ret;
	shared = memremap(shared_addr, SHIMOS_SHARED_SIZE, MEMREMAP_WB);
	return shared ? 0 : -ENOMEM;
}

/* Interrupts off on every CPU, for ever. */
static void hang(void *unused)
{
	local_irq_disable();
	while (READ_ONCE(shared->magic))
		cpu_relax();
}

/* On arm64: KLoader shall not learn where this module's code is. */
static void hide(void)
{
	memset((u8 *)shared + SHIMOS_PLATFORM, 0, sizeof(struct shimos_arm64));
}

/* Random bytes everywhere but in the fields that end the partition. */
static void scribble(void)
{
	u8 *bytes = (u8 *)shared;

	get_random_bytes(bytes + offsetof(struct shimos_shared, agent_version), 4);
	get_random_bytes(bytes + offsetof(struct shimos_shared, heartbeat), 4);
	get_random_bytes(&shared->bell, sizeof(shared->bell));
	shared->bell |= SHIMOS_BELL_READY;
	get_random_bytes(shared->message, sizeof(shared->message));
	get_random_bytes(bytes + SHIMOS_CONSOLE_IN,
			 SHIMOS_SHARED_SIZE - SHIMOS_CONSOLE_IN);
}

/* Over the end of the copies that a restart would use, and whatever room is behind it. */
static void spoil_stash(void)
{
	void *stash = memremap(shared_addr - SZ_256K, SZ_256K, MEMREMAP_WB);

	if (stash)
		memset(stash, 0x5a, SZ_256K);
}

/* What a kernel without the agent does to reset. */
static void reset(void)
{
	((u8 *)shared)[SHIMOS_PLATFORM + SHIMOS_REG_RESET] = SHIMOS_RESET_VALUE;
}

static int __init test_init(void)
{
	int ret = map_shared();

	if (ret)
		return ret;
	if (!strcmp(what, "hang"))
		on_each_cpu(hang, NULL, 0);
	else if (!strcmp(what, "hide"))
		hide();
	else if (!strcmp(what, "scribble"))
		scribble();
	else if (!strcmp(what, "spoil"))
		spoil_stash();
	else if (!strcmp(what, "reset"))
		reset();
	else if (!strcmp(what, "cause"))
		shared->cause = 12345;
	else
		return -EINVAL;
	return 0;
}

static void __exit test_exit(void)
{
	memunmap(shared);
}

module_init(test_init);
module_exit(test_exit);
MODULE_DESCRIPTION("SHIMOS tests: misbehaves inside a partition");
MODULE_LICENSE("GPL");
