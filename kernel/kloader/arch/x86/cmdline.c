// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel command lines on x86: the host's, which must forbid broadcasts, and a
 * partition's, which must say what containment needs and nothing against it.
 */
#include <linux/fs.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <asm/tsc.h>

#include "cmdline.h"

#define HOST_CMDLINE_LEN	2048	/* COMMAND_LINE_SIZE */

static bool ipi_broadcast_off;

/* Parameters that KLoader sets itself, or that would undo what it relies on. */
static const struct {
	const char *name;
	const char *reason;
} reserved[] = {
	{ "no_ipi_broadcast", "its interrupts must not reach the host's CPUs" },
	{ "reboot", "only reboot=a ends in the reset register that KLoader watches" },
	{ "panic", "a panic must wait for KLoader, not reset the machine" },
	{ "panic_timeout", "a panic must wait for KLoader, not reset the machine" },
	{ "sysctl.kernel.panic", "a panic must wait for KLoader, not reset the machine" },
	{ "pci", "it must not probe the host's PCI devices" },
	{ "reserve", "KLoader keeps it off the ports through which it could" },
	{ "acpi", "its ACPI tables are what tells it what belongs to it" },
	{ "acpi_rsdp", "its ACPI tables are what tells it what belongs to it" },
	{ "tsc", "it cannot calibrate against the host's timers" },
	{ "tsc_early_khz", "it cannot calibrate against the host's timers" },
	{ "apic_extnmi", "external NMIs belong to the host" },
	{ "8250.nr_uarts", "the serial ports belong to the host" },
	{ "disable_cpu_apicid", "KLoader chooses its CPUs" },
	{ "maxcpus", "KLoader chooses its CPUs; use --cpus" },
	{ "nr_cpus", "KLoader chooses its CPUs; use --cpus" },
	{ "possible_cpus", "KLoader chooses its CPUs; use --cpus" },
	{ "nosmp", "KLoader chooses its CPUs; use --cpus" },
	{ "mem", "KLoader gives its memory; use --memory" },
	{ "memmap", "memory outside of its own belongs to the host" },
	{ "noapic", "it has no other interrupts than its local APICs'" },
	{ "nolapic", "it has no other interrupts than its local APICs'" },
	{ "lapic", "it has no other interrupts than its local APICs'" },
	{ "apic", "the APIC mode is the host's choice" },
	{ "x2apic", "the APIC mode is the host's choice" },
	{ "nox2apic", "the APIC mode is the host's choice" },
	{ "efi", "the firmware belongs to the host" },
	{ "dis_ucode_ldr", "microcode is the host's to load" },
	{ "bootconfig", "the initrd could then say what the command line must not" },
	{ "shimos.start", "KLoader counts the starts" },
};

/* A quote that is left open would swallow what containment adds behind it. */
static bool has_open_quote(const char *cmdline)
{
	bool open = false;

	for (; *cmdline; cmdline++)
		if (*cmdline == '"')
			open = !open;
	return open;
}

static bool same_name(const char *word, size_t len, const char *name)
{
	size_t i;

	if (strlen(name) != len)
		return false;
	for (i = 0; i < len; i++)	/* the kernel takes - for _ */
		if ((word[i] == '-' ? '_' : word[i]) != name[i])
			return false;
	return true;
}

/* The next word behind @at, which may have quotes in it; NULL at the end. */
static const char *next_word(const char **at, size_t *len)
{
	const char *start = skip_spaces(*at), *end;
	bool quoted = false;

	for (end = start; *end && (quoted || *end != ' '); end++)
		if (*end == '"')
			quoted = !quoted;
	*at = end;
	*len = end - start;
	return *len ? start : NULL;
}

static size_t name_length(const char *word, size_t len)
{
	const char *equals = memchr(word, '=', len);

	return equals ? equals - word : len;
}

int x86_check_cmdline(const char *cmdline, struct complaint *c)
{
	const char *word;
	size_t len;
	int i;

	if (has_open_quote(cmdline))
		return refuse(c, -EINVAL, "the command line has a quote that is not closed");
	while ((word = next_word(&cmdline, &len))) {
		if (len == 2 && !memcmp(word, "--", 2))
			return refuse(c, -EINVAL,
				      "the command line ends in '--', which would hide what containment adds behind it");
		if (*word == '"') {	/* "name=value" */
			word++;
			len--;
		}
		for (i = 0; i < ARRAY_SIZE(reserved); i++)
			if (same_name(word, name_length(word, len), reserved[i].name))
				return refuse(c, -EINVAL, "the command line must not set '%s': %s",
					      reserved[i].name, reserved[i].reason);
	}
	return 0;
}

/* Before 6.9 the dummy APIC id would be taken for a CPU that does not answer. */
static bool needs_dummy_disabled(const char *version)
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
static const char *pci_words(const struct partition *p)
{
	return p->passthrough_count ? "pci=noearly reserve=0xcf8,8" : "pci=off";
}

/*
 * noreplace-smp: a kernel with one CPU takes the lock prefixes out of its atomic
 * operations, and would no longer be atomic towards its peers.
 *
 * Not panic=0, which would say the same: Debian's initramfs takes any panic= for
 * the wish to have no shell and to halt instead.
 */
int x86_append_cmdline(struct partition *p, char *buf, size_t len)
{
	return snprintf(buf, len,
			"no_ipi_broadcast=1 reboot=a sysctl.kernel.panic=0 %s tsc=reliable tsc_early_khz=%u apic_extnmi=none 8250.nr_uarts=0 dis_ucode_ldr noreplace-smp%s",
			pci_words(p), tsc_khz, needs_dummy_disabled(p->image.version) ?
			" disable_cpu_apicid=0xfe" : "");
}

/* The kernel does not export its command line to modules; /proc has it. */
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
		while ((word = next_word(&at, &len)))
			if (same_name(word, name_length(word, len), "no_ipi_broadcast"))
				ipi_broadcast_off = !memcmp(word + len - 2, "=1", 2);
	}
	kfree(line);
	return min_t(ssize_t, got, 0);
}

bool x86_host_ipi_broadcast_off(void)
{
	return ipi_broadcast_off;
}
