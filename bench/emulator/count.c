// SPDX-License-Identifier: GPL-2.0
/*
 * A plugin of the emulator, -plugin count.so,total=FILE: how many instructions it has executed.
 *
 * FILE has one 64-bit number, of all CPUs, which whoever maps it reads at any time.  The emulator's
 * clock that counts instructions runs on while all CPUs sleep; this number does not.  A block of
 * code counts when it is entered, so what an exception cuts short counts as if it had run to its end.
 *
 * One CPU runs at a time then, so adding needs no lock, and nobody says which it was: whose number
 * the emulator gives is that of the CPU for which the block was translated first.
 *
 * Debian has no header of the emulator's for plugins.  What is declared here is its version 7,
 * and an emulator that has another says so and ends.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NO_REGISTERS 0

struct qemu_plugin_tb;

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t plugin,
					   void (*translated)(struct qemu_plugin_tb *, void *),
					   void *data);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block,
					  void (*entered)(unsigned int cpu, void *),
					  int flags, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
int qemu_plugin_install(uint64_t plugin, const void *info, int argc, char **argv);

int qemu_plugin_version = 7;

static uint64_t *total;

static void entered(unsigned int cpu, void *instructions)
{
	(void)cpu;
	*total += (uintptr_t)instructions;
}

static void translated(struct qemu_plugin_tb *block, void *data)
{
	(void)data;
	qemu_plugin_register_vcpu_tb_exec_cb(block, entered, NO_REGISTERS,
					     (void *)qemu_plugin_tb_n_insns(block));
}

int qemu_plugin_install(uint64_t plugin, const void *info, int argc, char **argv)
{
	int file;

	(void)info;
	if (argc != 1 || strncmp(argv[0], "total=", 6))
		return -1;
	file = open(argv[0] + 6, O_RDWR | O_CREAT, 0600);
	if (file < 0 || ftruncate(file, sizeof(*total))) {
		perror(argv[0]);
		return -1;
	}
	total = mmap(NULL, sizeof(*total), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	if (total == MAP_FAILED) {
		perror(argv[0]);
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(plugin, translated, NULL);
	return 0;
}
