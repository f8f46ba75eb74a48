// SPDX-License-Identifier: GPL-2.0
/* Command lines: the host's and what a partition's must not say. */
#include "test.h"
#include "arch.h"
#include "cmdline.h"

static const char *host_cmdline;

struct file *filp_open(const char *path, int flags, int mode)
{
	CHECK(!strcmp(path, "/proc/cmdline"));
	return (struct file *)&host_cmdline;
}

ssize_t kernel_read(struct file *file, void *to, size_t len, loff_t *pos)
{
	size_t have = strlen(host_cmdline);

	have = min(have, len);
	memcpy(to, host_cmdline, have);
	return have;
}

void filp_close(struct file *file, void *id)
{
}

static bool broadcast_off(const char *line)
{
	host_cmdline = line;
	CHECK(x86_read_host_cmdline() == 0);
	return x86_host_ipi_broadcast_off();
}

static bool allowed(const char *line)
{
	struct complaint c = {};
	int ret = kloader_arch_check_cmdline(line, &c);

	CHECK(!ret == !c.text[0]);
	return !ret;
}

void test_cmdline(void)
{
	struct partition p = {};
	char line[512];
	int i, j;

	CHECK(!broadcast_off("quiet\n"));
	CHECK(!broadcast_off(""));
	CHECK(broadcast_off("quiet no_ipi_broadcast=1\n"));
	CHECK(!broadcast_off("no_ipi_broadcast=1 no_ipi_broadcast=0\n"));
	CHECK(!broadcast_off("xno_ipi_broadcast=1\n"));
	CHECK(broadcast_off("no-ipi-broadcast=1 quiet"));
	CHECK(!broadcast_off("no_ipi_broadcast quiet"));
	CHECK(!x86_host_tsc_reliable());
	CHECK(!broadcast_off("tsc=unstable\ttsc=reliable2\n") && !x86_host_tsc_reliable());
	CHECK(!broadcast_off("quiet\ttsc=reliable\n") && x86_host_tsc_reliable());

	CHECK(allowed(""));
	CHECK(allowed("console=ttyIKC0 root=/dev/vda quiet memory=x pcie_aspm=off"));
	CHECK(!allowed("reboot=t"));
	CHECK(!allowed("quiet\treboot=t"));	/* any space ends a word */
	CHECK(!allowed("quiet\nreboot=t"));
	CHECK(!allowed("crashkernel=64M"));
	CHECK(!allowed("notsc"));
	CHECK(!allowed("quiet panic=5"));
	CHECK(!allowed("tsc-early-khz=1"));
	CHECK(!allowed("\"mem=1G\""));
	CHECK(!allowed("nosmp"));
	CHECK(!allowed("  8250.nr_uarts=4  "));
	CHECK(!allowed("init=/x -- single"));
	CHECK(!allowed("quiet foo=\"bar"));
	CHECK(!allowed("bootconfig"));
	CHECK(!allowed("shimos.start=7"));
	CHECK(!allowed("reserve=0x10,1"));
	CHECK(allowed("dyndbg=\"file x +p reboot=t\""));	/* one quoted value */

	strcpy(p.image.version, "6.1.0-50-cloud-amd64");
	CHECK(kloader_arch_append_cmdline(&p, line, sizeof(line)) == (int)strlen(line));
	CHECK(strstr(line, "disable_cpu_apicid=0xfe") && strstr(line, "tsc_early_khz=2000000"));
	strcpy(p.image.version, "6.12.9");
	kloader_arch_append_cmdline(&p, line, sizeof(line));
	CHECK(!strstr(line, "disable_cpu_apicid"));
	CHECK(strstr(line, " pci=off "));
	p.passthrough_count = 1;
	kloader_arch_append_cmdline(&p, line, sizeof(line));
	CHECK(strstr(line, " pci=noearly reserve=0xcf8,8 ") && !strstr(line, "pci=off"));

	for (i = 0; i < 20000; i++) {
		for (j = 0; j < 40; j++)
			line[j] = "pci=reboot \"--_"[random_u32() % 15];
		line[j] = '\0';
		allowed(line);
	}
}
