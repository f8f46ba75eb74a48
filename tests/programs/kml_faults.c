// SPDX-License-Identifier: GPL-2.0
/* Faults and traps as often as it can for some seconds: kml_faults SECONDS */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGES	64

static volatile unsigned long traps;

static void on_trap(int signal)
{
	traps++;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	unsigned long faults = 0, sum = 0;
	char *memory = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return 1;
	madvise(memory, PAGES * 4096, MADV_NOHUGEPAGE);
	signal(SIGTRAP, on_trap);
	while (time(NULL) < end) {
		unsigned long before = traps;

		for (int i = 0; i < PAGES; i++) {
			sum += memory[i * 4096];		/* the zero page */
			memory[i * 4096] = i;			/* a page of its own */
			faults += 2;
		}
		for (int i = 0; i < PAGES; i++)
			if (memory[i * 4096] != i)
				return 2;
		if (madvise(memory, PAGES * 4096, MADV_DONTNEED))
			return 3;
		asm volatile("int3");
		if (traps != before + 1)
			return 4;
	}
	printf("fine %s\n", faults && !sum ? "faults" : "nothing");
	return 0;
}
