// SPDX-License-Identifier: GPL-2.0
/*
 * Tells an NVMe device without a driver to write to an address of memory:
 *
 *	nvme_wild /sys/bus/pci/devices/0001:02:00.0 ADDRESS|own
 *
 * It has the controller identify itself (NVMe 1.4, section 5.15), which writes 4096 bytes there,
 * and prints the command's status.  With "own" that is a page of the program's, and it says
 * whether something has arrived.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "must.h"

#define PAGE		4096UL
#define PCI_COMMAND	4
#define PCI_MASTER	4

/* Registers, in bytes from the start of the first BAR: section 3.1. */
#define CONFIGURATION	0x14
#define STATUS		0x1c
#define QUEUE_SIZES	0x24
#define SUBMISSIONS	0x28
#define COMPLETIONS	0x30
#define DOORBELL	0x1000
#define ENABLE		(6 << 16 | 4 << 20 | 1)	/* entries of 64 and 16 bytes */
#define READY		1
#define IDENTIFY	0x06
#define CONTROLLER	1
#define ENTRIES		2

static volatile uint8_t *registers;

static int device_file(const char *device, const char *name)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", device, name);
	fd = open(path, O_RDWR | O_SYNC);
	MUST(fd >= 0);
	return fd;
}

static void enable_device(const char *device)
{
	uint16_t command;
	int fd = device_file(device, "enable");

	MUST(write(fd, "1", 1) == 1);
	close(fd);
	fd = device_file(device, "config");
	MUST(pread(fd, &command, 2, PCI_COMMAND) == 2);
	command |= PCI_MASTER;
	MUST(pwrite(fd, &command, 2, PCI_COMMAND) == 2);
	close(fd);
	fd = device_file(device, "resource0");
	registers = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(registers != MAP_FAILED);
}

static uint64_t physical(const void *page)
{
	uint64_t entry;
	int fd = open("/proc/self/pagemap", O_RDONLY);

	MUST(pread(fd, &entry, 8, (uintptr_t)page / PAGE * 8) == 8);
	close(fd);
	return (entry & ((1ULL << 55) - 1)) * PAGE;
}

static void set32(unsigned int at, uint32_t value)
{
	*(volatile uint32_t *)(registers + at) = value;
}

static void set64(unsigned int at, uint64_t value)
{
	set32(at, value);
	set32(at + 4, value >> 32);
}

static void wait_for_ready(uint32_t ready)
{
	while ((*(volatile uint32_t *)(registers + STATUS) & READY) != ready)
		usleep(1000);
}

static void start(const void *submissions, const void *completions)
{
	set32(CONFIGURATION, 0);
	wait_for_ready(0);
	set32(QUEUE_SIZES, (ENTRIES - 1) << 16 | (ENTRIES - 1));
	set64(SUBMISSIONS, physical(submissions));
	set64(COMPLETIONS, physical(completions));
	set32(CONFIGURATION, ENABLE);
	wait_for_ready(READY);
}

/* Returns the status; -1: none came. */
static int identify(uint32_t *submission, volatile uint16_t *completion, uint64_t to)
{
	unsigned int ms;

	submission[0] = IDENTIFY;
	submission[6] = to;
	submission[7] = to >> 32;
	submission[10] = CONTROLLER;
	__sync_synchronize();
	set32(DOORBELL, 1);
	for (ms = 0; ms < 5000; ms++) {
		if (completion[7] & 1)
			return completion[7] >> 1;
		usleep(1000);
	}
	return -1;
}

int main(int argc, char **argv)
{
	uint8_t *pages, *data;
	uint64_t to;
	int own;

	MUST(argc == 3);
	pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | MAP_LOCKED, -1, 0);
	MUST(pages != MAP_FAILED);
	memset(pages, 0, 3 * PAGE);
	data = pages + 2 * PAGE;
	own = !strcmp(argv[2], "own");
	to = own ? physical(data) : strtoull(argv[2], NULL, 0);
	enable_device(argv[1]);
	start(pages, pages + PAGE);
	printf("status %d\n", identify((uint32_t *)pages, (void *)(pages + PAGE), to));
	if (own)
		printf("arrived %d\n", data[0] || data[1]);
	return 0;
}
