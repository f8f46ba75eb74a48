// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel command lines on x86: the host's, which must forbid broadcasts, and a
 * partition's, which must say what containment needs and nothing against it.
 */
#include <linux/fs.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <asm/tsc.h>

#include "arch.h"
#include "cmdline.h"

#define HOST_CMDLINE_LEN	2048	/* COMMAND_LINE_SIZE */

static bool x86_ipi_broadcast_off, x86_tsc_reliable;

/* Parameters that KLoader sets itself, or that would undo what it relies on. */
static const struct cmdline_refused x86_cmdline_refused[] = {
#define REFUSED(name, reason)	{ name, reason },
#include "refused.h"
#undef REFUSED
};

int kloader_arch_check_cmdline(const char *cmdline, struct complaint *c)
{
	return cmdline_check(cmdline, x86_cmdline_refused, ARRAY_SIZE(x86_cmdline_refused), c);
}

/* Before 6.9 the dummy APIC id would be taken for a CPU that does not answer. */
static bool cmdline_needs_dummy_disabled(const char *version)
{
	unsigned int major, minor;

	return sscanf(version, "%u.%u", &major, &minor) == 2 &&
	       (major < 6 || (major == 6 && minor < 9));
}

/*
 * One that has PCI devices finds them through its ACPI tables and memory only.
 * Ports 0xcf8 to 0xcff, which the host uses at the same time, are taken before it
 * looks for them: there is no option that says so.
 */
static const char *cmdline_pci_words(const struct partition *p)
{
	return p->passthrough_count ? "pci=noearly reserve=0xcf8,8" : "pci=off";
}

/*
 * ipmi_si.trydmi: the firmware's SMBIOS table, which any kernel finds, names the host's BMC.
 *
 * noreplace-smp: a kernel with one CPU takes the lock prefixes out of its atomic
 * operations, and would no longer be atomic towards its peers.
 *
 * rdt: a booting kernel sets the masks of caches and memory bandwidth to all ones, on
 * all CPUs of a cache that it shares with the host.
 *
 * memhp_default_state: memory that comes later is used at once, and so that it can go again.
 *
 * Not panic=0, which would say the same: Debian's initramfs takes any panic= for
 * the wish to have no shell and to halt instead.
 */
int kloader_arch_append_cmdline(struct partition *p, char *buf, size_t len)
{
	return snprintf(buf, len,
			"no_ipi_broadcast=1 reboot=a sysctl.kernel.panic=0 %s tsc=reliable tsc_early_khz=%u apic_extnmi=none 8250.nr_uarts=0 dis_ucode_ldr noreplace-smp memhp_default_state=online_movable rdt=!l3cat,!l3cdp,!l2cat,!l2cdp,!mba,!smba ipmi_si.trydmi=0%s",
			cmdline_pci_words(p), tsc_khz, cmdline_needs_dummy_disabled(p->image.version) ?
			" disable_cpu_apicid=0xfe" : "");
}

static bool cmdline_is(const char *word, size_t len, const char *name, const char *value)
{
	size_t name_len = cmdline_name_length(word, len);

	return cmdline_same_name(word, name_len, name) &&
	       len == name_len + 1 + strlen(value) &&
	       !memcmp(word + name_len + 1, value, strlen(value));
}

/* What the last word says is what the kernel does. */
static void cmdline_read_host_word(const char *word, size_t len)
{
	size_t name_len = cmdline_name_length(word, len);

	if (cmdline_same_name(word, name_len, "no_ipi_broadcast"))
		x86_ipi_broadcast_off = cmdline_is(word, len, "no_ipi_broadcast", "1");
	if (cmdline_is(word, len, "tsc", "reliable"))
		x86_tsc_reliable = true;
}

/**
 * x86_read_host_cmdline() - read the host's own command line once; it does not change
 *
 * The kernel does not export it to modules; /proc has it.
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int x86_read_host_cmdline(void)
{
	const char *at, *word;
	loff_t pos = 0;
	struct file *file;
	ssize_t got;
	char *line;
	size_t len;

	file = filp_open("/proc/cmdline", O_RDONLY, 0);
	if (IS_ERR(file))
		return PTR_ERR(file);
	line = kzalloc(HOST_CMDLINE_LEN + 1, GFP_KERNEL);
	got = line ? kernel_read(file, line, HOST_CMDLINE_LEN, &pos) : -ENOMEM;
	filp_close(file, NULL);
	if (got > 0) {
		at = strim(line);
		while ((word = cmdline_next_word(&at, &len)))
			cmdline_read_host_word(word, len);
	}
	kfree(line);
	return min_t(ssize_t, got, 0);
}

/**
 * x86_host_tsc_reliable() - was the host told that its TSC is reliable?
 *
 * Context: any; after x86_read_host_cmdline().
 */
bool x86_host_tsc_reliable(void)
{
	return x86_tsc_reliable;
}

/**
 * x86_host_ipi_broadcast_off() - does the host never send interrupts to all CPUs at once?
 *
 * Context: any; after x86_read_host_cmdline().
 */
bool x86_host_ipi_broadcast_off(void)
{
	return x86_ipi_broadcast_off;
}
