// SPDX-License-Identifier: GPL-2.0
/*
 * Changes a function COUNT times while three threads call it without end, as a kernel does it
 * (text_poke): by one byte through another mapping, after which each CPU serialises itself.
 * Prints how many of the changes a thread did not see, however often it called:
 *
 *	stale_code COUNT
 */
#define _GNU_SOURCE
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "must.h"

enum { READERS = 3, CALLS = 1000, VALUES = 128, STOP = -1 };

/* mov $0, %eax; ret: the byte behind the first is what it returns */
static const uint8_t program[] = { 0xb8, 0, 0, 0, 0, 0xc3 };
static int (*function)(void);
/* The number of the last change that was made, and of those that each thread has looked for. */
static atomic_int made;
static struct {
	pthread_t thread;
	atomic_int looked;
	int stale;
} readers[READERS];

static void serialise(void)
{
	int a = 0, b, c = 0, d;

	asm volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d) : : "memory");
}

/* Whether the function is, and stays, what it was before this change. */
static int is_stale(int change)
{
	int i;

	for (i = 0; i < CALLS && function() != change % VALUES; i++)
		serialise();
	return i == CALLS;
}

static void *reader(void *argument)
{
	int i, change, number = (intptr_t)argument;

	while ((change = made) != STOP) {
		if (change != readers[number].looked) {
			readers[number].stale += is_stale(change);
			readers[number].looked = change;
		}
		for (i = 0; i < 20; i++)
			function();
		asm volatile("pause");
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int count = argc == 2 ? atoi(argv[1]) : 0, change, i, fd = memfd_create("code", 0);
	uint8_t *code;

	MUST(count > 0 && fd >= 0 && !ftruncate(fd, getpagesize()));
	code = mmap(NULL, getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	function = mmap(NULL, getpagesize(), PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	MUST(code != MAP_FAILED && (void *)function != MAP_FAILED);
	memcpy(code, program, sizeof(program));
	MUST(!syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0));
	for (i = 0; i < READERS; i++)
		MUST(!pthread_create(&readers[i].thread, NULL, reader, (void *)(intptr_t)i));
	for (change = 1; change <= count; change++) {
		*(volatile uint8_t *)(code + 1) = change % VALUES;
		MUST(!syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0));
		made = change;
		for (i = 0; i < READERS; i++)
			while (readers[i].looked != change)
				asm volatile("pause");
	}
	made = STOP;
	for (i = 0; i < READERS; i++) {
		MUST(!pthread_join(readers[i].thread, NULL));
		printf("thread %d: %d of %d stale\n", i, readers[i].stale, count);
	}
	return 0;
}
