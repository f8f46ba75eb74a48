/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of KLoader's x86 part share. */
#ifndef _KLOADER_X86_H
#define _KLOADER_X86_H

#include <linux/sizes.h>
#include <linux/types.h>
#include <uapi/shimos_acpi.h>

#include "kloader.h"

/*
 * The first MiB of a partition's first range: structures that its kernel reads
 * while it boots and takes for reserved.  RAM starts behind it.
 */
#define X86_BOOT_PARAMS		0x1000
#define X86_CMDLINE		0x2000
#define X86_GUEST_GDT		0x3000	/* of a guarded one, as the next */
#define X86_MAILBOX		0x4000
#define X86_PAGE_TABLES		0x10000
#define X86_PAGE_TABLES_LEN	0x10000
#define X86_ACPI		0x40000
#define X86_ACPI_LEN		0x10000
#define X86_RAM			0x100000

/* A dummy that is listed first among a partition's APIC ids; see acpi.c. */
#define X86_DUMMY_APIC_ID	0xfe

/* RAM below 1 MiB for the real-mode code of a partition's own CPU start-up. */
#define X86_LOW_PAGES		8

/* Where users of Debian and its kin set the host's kernel command line. */
#define X86_CMDLINE_ADVICE \
	"GRUB_CMDLINE_LINUX in /etc/default/grub, run update-grub and restart the machine"

/**
 * struct x86_partition - what this architecture knows of a partition
 * @low_memory: physical address, X86_LOW_PAGES pages
 * @guard: NULL: its kernel runs as it is
 */
struct x86_partition {
	u64 low_memory;
	struct x86_guard *guard;
};

struct boot_params;
struct x86_guard;

/**
 * struct image_format - a kind of kernel file
 * @name: of it
 * @parse: as kloader_arch_parse_image(); -ENOEXEC without a text: it is not of this kind
 * @place: copy it from the stash to p->layout.kernel, and fill in the setup header
 */
struct image_format {
	const char *name;
	int (*parse)(const void *image, u64 size, struct image *out,
		     struct complaint *c);
	int (*place)(struct partition *p, struct boot_params *bp,
		     struct complaint *c);
};

extern const struct image_format x86_bzimage, x86_elf;

/**
 * x86_of() - what this architecture knows of a partition
 * @p: of kloader_arch_create()
 *
 * Context: any.
 */
static inline struct x86_partition *x86_of(struct partition *p)
{
	return p->arch;
}

/* acpi.c: gives the physical address of the RSDP */
int x86_write_acpi(struct partition *p, u64 *rsdp, struct complaint *c);
/* boot_params.c */
int x86_write_boot_params(struct partition *p, struct complaint *c);
/* page_tables.c: the top level lies at X86_PAGE_TABLES */
void x86_write_page_tables(struct partition *p);

/* low_memory.c: pages below 1 MiB, all under a lock of their own */
void x86_low_memory_init(void);
u64 x86_low_memory_take(unsigned int pages);	/* 0: none left */
void x86_low_memory_give_back(u64 addr, unsigned int pages);

/**
 * struct x86_entry - what a CPU enters from the trampoline, in 64-bit mode
 * @cr3: its page tables, physical
 * @at: where, in these
 * @argument: what it finds in RSI
 */
struct x86_entry {
	u64 cr3;
	u64 at;
	u64 argument;
};

/* cpu.c */
int x86_cpu_init(void);
void x86_cpu_exit(void);
u64 x86_cpu_trampoline(void);	/* the physical address of its page */
int x86_cpu_start(struct partition *p, u32 i, const struct x86_entry *entry, struct complaint *c);

/* resctrl.c */
u32 x86_resctrl_register(void);
u64 x86_resctrl_share(unsigned int cpu);

/* trampoline.S */
extern const u8 kloader_trampoline[], kloader_trampoline_data[];
extern const u8 kloader_trampoline_end[], kloader_trampoline_idt[];
extern const u8 kloader_trampoline_fault[], kloader_trampoline_nmi[];
extern const u8 kloader_trampoline_mce[];

#define TRAMPOLINE_PARK		0
#define TRAMPOLINE_START	1

/* Exceptions that a parked CPU answers: up to and including #MC. */
#define TRAMPOLINE_VECTORS	19

#endif
