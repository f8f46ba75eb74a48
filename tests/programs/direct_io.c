// SPDX-License-Identifier: GPL-2.0
/*
 * O_DIRECT requests to a block device at a fixed queue depth, through Linux' native
 * asynchronous I/O: direct_io DEVICE read|write|seqread|seqwrite BYTES DEPTH COUNT
 * Prints nanoseconds per request.  With the emulator counting instructions as time,
 * that is what all kernels concerned spent on one.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <linux/fs.h>

#define MAX_DEPTH	128

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

struct job {
	int fd;
	int write, sequential;
	size_t bytes;
	uint64_t blocks, position, random;
	aio_context_t context;
	struct iocb iocb[MAX_DEPTH];
	void *buffer[MAX_DEPTH];
};

static uint64_t next_block(struct job *job)
{
	if (job->sequential)
		return job->position++ % job->blocks;
	/* xorshift: the same sequence in every run */
	job->random ^= job->random << 13;
	job->random ^= job->random >> 7;
	job->random ^= job->random << 17;
	return job->random % job->blocks;
}

static void submit(struct job *job, unsigned int *slot, unsigned int count)
{
	struct iocb *list[MAX_DEPTH];
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct iocb *cb = &job->iocb[slot[i]];

		memset(cb, 0, sizeof(*cb));
		cb->aio_data = slot[i];
		cb->aio_lio_opcode = job->write ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD;
		cb->aio_fildes = job->fd;
		cb->aio_buf = (uintptr_t)job->buffer[slot[i]];
		cb->aio_nbytes = job->bytes;
		cb->aio_offset = next_block(job) * job->bytes;
		list[i] = cb;
	}
	for (i = 0; i < count; ) {
		long done = syscall(SYS_io_submit, job->context, count - i, list + i);

		if (done < 0)
			err(1, "io_submit");
		i += done;
	}
}

static unsigned int reap(struct job *job, unsigned int *slot, unsigned int max)
{
	struct io_event event[MAX_DEPTH];
	long i, got;

	do {
		got = syscall(SYS_io_getevents, job->context, 1, max, event, NULL);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		err(1, "io_getevents");
	for (i = 0; i < got; i++) {
		if (event[i].res != (int64_t)job->bytes)
			errx(1, "a request ended with %lld", (long long)event[i].res);
		slot[i] = event[i].data;
	}
	return got;
}

static void run(struct job *job, unsigned int depth, uint64_t count)
{
	unsigned int slot[MAX_DEPTH], free = depth, i;
	uint64_t submitted = 0, done = 0;

	for (i = 0; i < depth; i++)
		slot[i] = i;
	while (done < count) {
		if (free > count - submitted)
			free = count - submitted;
		if (free)
			submit(job, slot, free);
		submitted += free;
		free = reap(job, slot, depth);
		done += free;
	}
}

int main(int argc, char **argv)
{
	struct job job = { .random = 88172645463325252ULL };
	uint64_t size, count, begin, end;
	unsigned int depth, i;

	if (argc != 6)
		errx(1, "usage: direct_io DEVICE read|write|seqread|seqwrite BYTES DEPTH COUNT");
	job.sequential = !strncmp(argv[2], "seq", 3);
	job.write = strstr(argv[2], "write") != NULL;
	job.bytes = strtoul(argv[3], NULL, 0);
	depth = strtoul(argv[4], NULL, 0);
	count = strtoull(argv[5], NULL, 0);
	if (!job.bytes || !depth || depth > MAX_DEPTH)
		errx(1, "bad block size or depth");
	job.fd = open(argv[1], (job.write ? O_RDWR : O_RDONLY) | O_DIRECT);
	if (job.fd < 0 || ioctl(job.fd, BLKGETSIZE64, &size))
		err(1, "%s", argv[1]);
	job.blocks = size / job.bytes;
	for (i = 0; i < depth; i++) {
		if (posix_memalign(&job.buffer[i], 4096, job.bytes))
			errx(1, "no memory");
		memset(job.buffer[i], i, job.bytes);
	}
	if (syscall(SYS_io_setup, MAX_DEPTH, &job.context))
		err(1, "io_setup");
	run(&job, depth, count / 4 + depth);	/* warm up */
	begin = now();
	run(&job, depth, count);
	end = now();
	printf("%llu ns per request\n", (unsigned long long)((end - begin) / count));
	return 0;
}
