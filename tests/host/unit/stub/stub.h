/* SPDX-License-Identifier: GPL-2.0 */
/*
 * As much of the kernel as KLoader's pure code needs to compile in user space.
 * Every kernel-only header that it includes leads here (see the Makefile).
 */
#ifndef _STUB_KERNEL_H
#define _STUB_KERNEL_H

#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <linux/types.h>
#include <linux/elf.h>
#include <asm/bootparam.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;

#define __printf(a, b)		__attribute__((format(printf, a, b)))
#define U64_MAX			(~0ULL)
#define PAGE_SIZE		4096
#define SZ_4K			0x00001000
#define SZ_1M			0x00100000
#define SZ_2M			0x00200000
#define SZ_64M			0x04000000
#define SZ_512M			0x20000000
#define SZ_1G			0x40000000
#define ALIGN(x, a)		(((x) + (a) - 1) & ~((typeof(x))(a) - 1))
#define BIT(n)			(1UL << (n))
#define BIT_ULL(n)		(1ULL << (n))
#define GENMASK(high, low)	(~0UL >> (63 - (high)) & ~0UL << (low))
#define GENMASK_ULL		GENMASK
#define FIELD_GET(mask, value)	(((value) & (mask)) >> __builtin_ctzll(mask))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define READ_ONCE(x)		(*(const volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, value)	(*(volatile typeof(x) *)&(x) = (value))
#define cond_resched()		do { } while (0)
#define IS_ALIGNED(x, a)	(!((x) & ((a) - 1)))
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define min(a, b)		((a) < (b) ? (a) : (b))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define min_t(t, a, b)		min((t)(a), (t)(b))
#define max_t(t, a, b)		max((t)(a), (t)(b))
#define GFP_KERNEL		0
#define IS_ERR(p)		((unsigned long)(p) >= -4095UL)
#define PTR_ERR(p)		((long)(p))

static inline bool is_power_of_2(unsigned long n)
{
	return n && !(n & (n - 1));
}

static inline char *skip_spaces(const char *text)
{
	while (isspace(*text))
		text++;
	return (char *)text;
}

static inline char *strim(char *text)
{
	size_t len = strlen(text);

	while (len && isspace(text[len - 1]))
		text[--len] = '\0';
	return skip_spaces(text);
}

static inline void *memchr_inv(const void *start, int c, size_t size)
{
	const u8 *at = start, *end = at + size;

	while (at < end && *at == c)
		at++;
	return at < end ? (void *)at : NULL;
}

/* Of arm64's: the register that says how page tables are read, and ways to the firmware. */
#define TCR_T1SZ_MASK		GENMASK(21, 16)
#define TCR_TG1_MASK		GENMASK(31, 30)
#define TCR_TG1_16K		(1UL << 30)
#define TCR_TG1_4K		(2UL << 30)
#define TCR_TG1_64K		(3UL << 30)
enum arm_smccc_conduit { SMCCC_CONDUIT_NONE, SMCCC_CONDUIT_SMC, SMCCC_CONDUIT_HVC };

/* Types that only appear as members. */
struct kref { int unused; };
struct list_head { void *next; };
struct mutex { int unused; };
struct rw_semaphore { int unused; };
struct hrtimer { int unused; };
struct work_struct { int unused; };
typedef struct { int unused; } wait_queue_head_t;
typedef struct { int counter; } atomic_t;
typedef struct { int unused; } spinlock_t;
struct device;

static inline void *phys_to_virt(u64 addr)
{
	return (void *)(uintptr_t)addr;
}

/* The host's command line is a file that the test writes. */
struct file;
#define O_RDONLY 0
struct file *filp_open(const char *path, int flags, int mode);
ssize_t kernel_read(struct file *file, void *to, size_t len, loff_t *pos);
void filp_close(struct file *file, void *id);
static inline void *kzalloc(size_t size, int flags) { (void)flags; return calloc(1, size); }
static inline void kfree(void *p) { free(p); }
extern unsigned int tsc_khz;

/* A processor and its kernel, of which test_svm.c says what they are. */
enum { X86_FEATURE_SVM, CC_ATTR_MEM_ENCRYPT, MSR_VM_CR };
bool boot_cpu_has(int feature);
bool cc_platform_has(int attribute);
int rdmsrl_safe_on_cpu(unsigned int cpu, u32 msr, u64 *value);

#endif
