// SPDX-License-Identifier: GPL-2.0
/*
 * A plugin of the emulator, -plugin last.so,out=FILE: the last instructions of SPUMONE's layer
 * before one of its own.
 *
 * FILE is a struct last, which whoever maps it reads at any time, and where he says which
 * instruction that is.  Each time that it runs, what ran before it is kept anew.  All else runs as
 * quickly as without.
 *
 * One CPU runs at a time while instructions are counted, so nothing here needs a lock.
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
#define LENGTH 4096

/* Linux has its text above, and programs below: here nothing runs but the layer. */
#define LAYER_FROM 0xff00000000000000
#define LAYER_TO 0xffffffff7fffffff

struct qemu_plugin_tb;
struct qemu_plugin_insn;

typedef void qemu_plugin_ran(unsigned int cpu, void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t plugin,
					   void (*translated)(struct qemu_plugin_tb *, void *),
					   void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *instruction,
					    qemu_plugin_ran *ran, int flags, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *instruction);
int qemu_plugin_install(uint64_t plugin, const void *info, int argc, char **argv);

int qemu_plugin_version = 7;

static struct last {
	uint64_t at;		/* the instruction that is waited for; whoever reads writes it */
	uint64_t times;		/* that it has run */
	uint64_t kept[LENGTH];	/* the addresses before the last time, the oldest first */
} *last;

static uint64_t ring[LENGTH], count;

static void ran(unsigned int cpu, void *data)
{
	uint64_t at = (uintptr_t)data, i;

	(void)cpu;
	ring[count++ % LENGTH] = at;
	if (at != last->at)
		return;
	for (i = 0; i < LENGTH; i++)
		last->kept[i] = ring[(count + i) % LENGTH];
	last->times++;
}

static void translated(struct qemu_plugin_tb *block, void *data)
{
	size_t i, instructions = qemu_plugin_tb_n_insns(block);

	(void)data;
	for (i = 0; i < instructions; i++) {
		struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
		uint64_t at = qemu_plugin_insn_vaddr(instruction);

		if (at >= LAYER_FROM && at <= LAYER_TO)
			qemu_plugin_register_vcpu_insn_exec_cb(instruction, ran, NO_REGISTERS,
							       (void *)at);
	}
}

int qemu_plugin_install(uint64_t plugin, const void *info, int argc, char **argv)
{
	int file;

	(void)info;
	if (argc != 1 || strncmp(argv[0], "out=", 4))
		return -1;
	file = open(argv[0] + 4, O_RDWR | O_CREAT, 0600);
	if (file < 0 || ftruncate(file, sizeof(*last))) {
		perror(argv[0]);
		return -1;
	}
	last = mmap(NULL, sizeof(*last), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	if (last == MAP_FAILED) {
		perror(argv[0]);
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(plugin, translated, NULL);
	return 0;
}
