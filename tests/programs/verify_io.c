// SPDX-License-Identifier: GPL-2.0
/*
 * Writes and reads to a disk whose contents are checked, from several processes at
 * once: verify_io DEVICE WORKERS COUNT.  Each has a part of the disk and a copy of what
 * must be in it; requests have all sizes and places, and bypass the page cache.
 * With 0 for COUNT it goes on until the disk fails, and tells with which error, how
 * long the slowest failing request took, and how long the slowest one before.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REGION		(1 << 20)	/* bytes of the disk, per worker */
#define BLOCK		512
#define LARGEST		(128 << 10)
#define MAX_WORKERS	16

struct result {
	uint64_t requests;
	int error;
	uint64_t milliseconds;		/* of the request that failed */
	uint64_t usual;			/* of the slowest that did not */
};

static struct result *results;		/* one per worker, shared */
static uint64_t state;

static uint64_t chance(void)
{
	/* xorshift: the same sequence in every run */
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

/* One request. */
static void request(int fd, char *copy, char *buffer, off_t region, struct result *result)
{
	size_t at = chance() % (REGION / BLOCK) * BLOCK, i;
	size_t len = (1 + chance() % (LARGEST / BLOCK)) * BLOCK;
	int write = chance() % 2;
	uint64_t begin;
	uint64_t took;
	ssize_t done;

	if (len > REGION - at)
		len = REGION - at;
	if (write) {
		for (i = 0; i < len / sizeof(uint64_t); i++)
			((uint64_t *)(copy + at))[i] = chance();
		memcpy(buffer, copy + at, len);
	}
	begin = now();
	done = write ? pwrite(fd, buffer, len, region + at) : pread(fd, buffer, len, region + at);
	took = now() - begin;
	if (done != (ssize_t)len) {
		result->error = done < 0 ? errno : EIO;
		result->milliseconds = took;
		return;
	}
	if (took > result->usual)
		result->usual = took;
	if (!write && memcmp(buffer, copy + at, len))
		errx(1, "wrong data at %llu, %zu bytes", (unsigned long long)region + at, len);
	result->requests++;
}

static void work(const char *device, unsigned int worker, uint64_t count)
{
	int fd = open(device, O_RDWR | O_DIRECT);
	off_t region = (off_t)worker * REGION;
	char *copy, *buffer;

	state = 88172645463325252ULL + worker;
	if (fd < 0 || posix_memalign((void **)&buffer, 4096, LARGEST) ||
	    posix_memalign((void **)&copy, 4096, REGION))
		err(1, "%s", device);
	if (pread(fd, copy, REGION, region) != REGION)
		results[worker].error = errno;
	while (!results[worker].error && (!count || results[worker].requests < count))
		request(fd, copy, buffer, region, &results[worker]);
	if (count && results[worker].error)
		errx(1, "%s: %s", device, strerror(results[worker].error));
	exit(0);
}

int main(int argc, char **argv)
{
	uint64_t count, requests = 0, slowest = 0, usual = 0;
	unsigned int workers, i;
	int status, failed = 0;

	if (argc != 4)
		errx(1, "usage: verify_io DEVICE WORKERS COUNT");
	workers = strtoul(argv[2], NULL, 0);
	count = strtoull(argv[3], NULL, 0);
	if (!workers || workers > MAX_WORKERS)
		errx(1, "1 to %d workers", MAX_WORKERS);
	results = mmap(NULL, workers * sizeof(*results), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (results == MAP_FAILED)
		err(1, "mmap");
	for (i = 0; i < workers; i++)
		if (!fork())
			work(argv[1], i, count);
	while (wait(&status) > 0)
		failed |= status;
	if (failed)
		return 1;
	for (i = 0; i < workers; i++) {
		requests += results[i].requests;
		if (results[i].milliseconds > slowest)
			slowest = results[i].milliseconds;
		if (results[i].usual > usual)
			usual = results[i].usual;
	}
	printf("requests %llu\nerror %s\nslowest %llu ms\nusual %llu ms\n",
	       (unsigned long long)requests,
	       results[0].error ? strerrorname_np(results[0].error) : "none",
	       (unsigned long long)slowest, (unsigned long long)usual);
	return 0;
}
