// SPDX-License-Identifier: GPL-2.0
/*
 * Throws nonsense at /dev/shimos: every call with wrong sizes, versions,
 * pointers, ids and flags, and with random bytes.  Usage: ioctl_fuzz SEED COUNT
 *
 * It asserts what can be known: wrong headers are refused with EPROTO and a text,
 * unknown numbers with ENOTTY, bad pointers with EFAULT.  The caller looks at
 * dmesg and at whether CPUs and memory are as before.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "uapi/shimos.h"

static const unsigned long calls[] = {
	SHIMOS_IOC_INFO, SHIMOS_IOC_ERROR, SHIMOS_IOC_CREATE, SHIMOS_IOC_LOAD,
	SHIMOS_IOC_START, SHIMOS_IOC_STOP, SHIMOS_IOC_KILL, SHIMOS_IOC_DESTROY,
	SHIMOS_IOC_STATUS, SHIMOS_IOC_WAIT, SHIMOS_IOC_CONSOLE, SHIMOS_IOC_MEMORY,
	SHIMOS_IOC_PCI, SHIMOS_IOC_RT, SHIMOS_IOC_RT_LATENCY, SHIMOS_IOC_RT_MOVE,
	SHIMOS_IOC_RT_CHECK, SHIMOS_IOC_RT_PRIORITY, SHIMOS_IOC_RT_VECTORS,
	SHIMOS_IOC_HOST_MOVE, SHIMOS_IOC_HOST_CPUS, SHIMOS_IOC_HOST_POLICY, SHIMOS_IOC_HOST_PRIORITY,
	SHIMOS_IOC_PLATFORM, SHIMOS_IOC_DESCRIBE,
};
#define CALLS (sizeof(calls) / sizeof(calls[0]))

static int fd;
static unsigned int failures;
static uint64_t state;

static uint32_t random_u32(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> 16;
}

static void expect(int ret, int error, const char *what, unsigned long call)
{
	if (ret == -1 && errno == error)
		return;
	failures++;
	printf("%s on call %#lx: returned %d, errno %d, expected errno %d\n", what,
	       call, ret, errno, error);
}

static void expect_text(const char *part)
{
	struct shimos_error e = { .hdr = { sizeof(e), SHIMOS_ABI_VERSION } };

	if (!ioctl(fd, SHIMOS_IOC_ERROR, &e) && strstr(e.text, part))
		return;
	failures++;
	printf("error text is '%s', expected '%s' in it\n", e.text, part);
}

static void check_headers(void)
{
	unsigned char arg[16384];
	struct shimos_header *hdr = (void *)arg;
	size_t i;

	for (i = 0; i < CALLS; i++) {
		memset(arg, 0, sizeof(arg));
		hdr->size = _IOC_SIZE(calls[i]) + 8;
		hdr->version = SHIMOS_ABI_VERSION;
		expect(ioctl(fd, calls[i], arg), EPROTO, "wrong size", calls[i]);
		hdr->size = 0;
		expect(ioctl(fd, calls[i], arg), EPROTO, "zero size", calls[i]);
		expect(ioctl(fd, calls[i], NULL), EFAULT, "null pointer", calls[i]);
		expect(ioctl(fd, calls[i], (void *)-4096L), EFAULT, "kernel pointer",
		       calls[i]);
		hdr->size = _IOC_SIZE(calls[i]) + 1;
		expect(ioctl(fd, calls[i] ^ (1UL << 16), arg), EPROTO, "other size",
		       calls[i]);
		expect(ioctl(fd, calls[i] ^ 0x40, arg), ENOTTY, "unknown number",
		       calls[i]);
		if (calls[i] == SHIMOS_IOC_ERROR)
			continue;	/* takes every version */
		hdr->size = _IOC_SIZE(calls[i]);
		hdr->version = 77;
		expect(ioctl(fd, calls[i], arg), EPROTO, "wrong version", calls[i]);
		if (hdr->size != _IOC_SIZE(calls[i]) || hdr->version != SHIMOS_ABI_VERSION)
			expect(0, EPROTO, "right header not written", calls[i]);
		if (calls[i] != SHIMOS_IOC_WAIT)
			expect_text("version 77");
		hdr->version = SHIMOS_ABI_VERSION;
		/* those that name no partition */
		if (calls[i] != SHIMOS_IOC_CREATE && calls[i] != SHIMOS_IOC_INFO &&
		    calls[i] != SHIMOS_IOC_HOST_CPUS && calls[i] != SHIMOS_IOC_HOST_POLICY)
			expect(ioctl(fd, calls[i], arg), ENOENT, "no such id", calls[i]);
	}
}

/* An argument that lies half on a page that cannot be read. */
static void check_page_end(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t i;

	munmap(map + page, page);
	for (i = 0; i < CALLS; i++) {
		struct shimos_header *hdr = (void *)(map + page - sizeof(*hdr));

		hdr->size = _IOC_SIZE(calls[i]);
		hdr->version = SHIMOS_ABI_VERSION;
		expect(ioctl(fd, calls[i], hdr), EFAULT, "cut argument", calls[i]);
	}
}

/* Random fields behind a right header; never a START that could succeed. */
static void random_call(void)
{
	static const uint32_t interesting[] = { 0, 1, 2, 3, 63, 64, 65, 0xffffffff, 0x80000000 };
	unsigned char arg[16384];
	struct shimos_header *hdr = (void *)arg;
	unsigned long call = calls[random_u32() % CALLS];
	uint32_t *words = (void *)arg;
	size_t i, size = _IOC_SIZE(call);

	for (i = 0; i < size; i++)
		arg[i] = random_u32();
	if (random_u32() % 8)
		for (i = 2; i < size / 4; i++)
			if (random_u32() % 2)
				words[i] = interesting[random_u32() % 9];
	if (size >= 4 * sizeof(*words) && random_u32() % 2) {
		/* one of the first partitions, and no flags */
		words[2] = 1 + random_u32() % 3;
		words[3] = 0;
	}
	if (random_u32() % 16) {
		hdr->size = size;
		hdr->version = SHIMOS_ABI_VERSION;
	}
	if (call == SHIMOS_IOC_WAIT)
		((struct shimos_wait *)arg)->timeout_ms %= 2;
	if (call == SHIMOS_IOC_CREATE && random_u32() % 2) {
		/* good enough to get past the first checks */
		struct shimos_create *c = (void *)arg;
		static uint32_t cpus[64];

		strcpy(c->name, "fuzz");
		c->cpu_count = random_u32() % 4;
		for (i = 0; i < 64; i++)
			cpus[i] = interesting[random_u32() % 9];
		c->cpus = (uintptr_t)cpus;
		c->flags = 0;
		c->kind = random_u32() % 3;
		c->memory = (uint64_t)(random_u32() % 80) << 20;
	}
	ioctl(fd, call, arg);
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 0) : 1000, i;

	state = 88172645463325252ULL + (argc > 1 ? strtoul(argv[1], NULL, 0) : 0);
	fd = open("/dev/shimos", O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		perror("/dev/shimos");
		return 2;
	}
	check_headers();
	check_page_end();
	for (i = 0; i < count; i++)
		random_call();
	/* descriptors that calls returned go with the program */
	printf("%lu random calls, %u failures\n", count, failures);
	return failures != 0;
}
