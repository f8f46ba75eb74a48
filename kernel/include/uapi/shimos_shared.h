/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The page that KLoader and the agent of one partition share, and the areas
 * behind it.  It lies in the partition's own memory, outside of what its kernel
 * takes for RAM; the platform description names it (see shimos_acpi.h).
 *
 * KLoader writes the header before it starts the partition.  From then on each
 * field has one writer, named below.  What the other side wrote is read once
 * and checked before it is used.
 */
#ifndef _UAPI_SHIMOS_SHARED_H
#define _UAPI_SHIMOS_SHARED_H

#include <linux/types.h>
#include "shimos_create.h"	/* SHIMOS_MAX_PCI */
#include "shimos_ikc.h"	/* SHIMOS_BELL */
#include "shimos_life.h"	/* enum shimos_resize_what */

#define SHIMOS_SHARED_MAGIC	0x31534f4d494853ULL	/* "SHIMOS1" */
#define SHIMOS_SHARED_VERSION	7

/* Where things lie, in bytes from the start of the shared area. */
#define SHIMOS_SHARED_SIZE	0x40000
#define SHIMOS_PLATFORM		0x1000	/* what the platform description needs */
#define SHIMOS_CONSOLE_IN	0x2000	/* struct shimos_console_in */
#define SHIMOS_CONSOLE_OUT	0x4000	/* struct shimos_console_out */
#define SHIMOS_INTERRUPTS	0x18000	/* struct shimos_interrupts */
#define SHIMOS_LAST_LOG		0x20000	/* struct shimos_last_log */

#define SHIMOS_CONSOLE_IN_LEN	0x1000	/* powers of two */
#define SHIMOS_CONSOLE_OUT_LEN	0x10000
#define SHIMOS_LAST_LOG_LEN	0x10000

/* Of one given device, and of all that a partition can have. */
#define SHIMOS_DEVICE_INTERRUPTS	32
#define SHIMOS_MAX_INTERRUPTS		(SHIMOS_MAX_PCI * SHIMOS_DEVICE_INTERRUPTS)

/**
 * enum shimos_request - what the host asks of the agent
 * @SHIMOS_REQUEST_NONE: nothing
 * @SHIMOS_REQUEST_POWEROFF: an orderly power-off
 * @SHIMOS_REQUEST_RESIZE: another CPU or more memory, or less of it
 */
enum shimos_request {
	SHIMOS_REQUEST_NONE = 0,
	SHIMOS_REQUEST_POWEROFF,
	SHIMOS_REQUEST_RESIZE,
};

/**
 * struct shimos_shared - the first page of the area that KLoader and an agent share
 * @magic: SHIMOS_SHARED_MAGIC
 * @version: SHIMOS_SHARED_VERSION
 * @size: SHIMOS_SHARED_SIZE
 * @name: the partition's
 * @ikc_area: physical address of its chunk 0
 * @ikc_kernel: its number there
 * @ikc_life: which life this is
 * @request: enum shimos_request
 * @watchers: ring for console output if not 0
 * @host_bell: SHIMOS_BELL
 * @stop: 1: CPUs that are interrupted for it shall stand still
 * @resize_what: SHIMOS_REQUEST_RESIZE: enum shimos_resize_what
 * @resize_cpu: the CPU's hardware id
 * @resize_start: the memory's address
 * @resize_size: how much memory, in bytes
 * @resize_number: of the request, never used again in this life
 * @agent_version: SHIMOS_SHARED_VERSION
 * @ready: 1: containment is armed
 * @cause: enum shimos_cause, written when it ends
 * @heartbeat: counts seconds
 * @busy_ns: CPU time spent, of all CPUs; with the heartbeat
 * @bell: SHIMOS_BELL
 * @memory_step: memory comes and goes in multiples of it, also its address; 0: it does not
 * @resized: number of the last request that was done, or could not be
 * @resize_error: 0, or why not: a negative errno
 * @message: panic text
 */
struct shimos_shared {
	/* KLoader's, constant while the partition runs */
	__u64 magic;
	__u32 version;
	__u32 size;
	char name[32];
	__u64 ikc_area;
	__u32 ikc_kernel;
	__u32 ikc_life;

	/* KLoader's */
	__u32 request;
	__u32 watchers;
	__u64 host_bell;
	__u32 stop;
	__u32 resize_what;
	__u64 resize_cpu;
	__u64 resize_start;
	__u64 resize_size;
	__u32 resize_number;

	/* the agent's */
	__u32 agent_version __attribute__((aligned(64)));
	__u32 ready;
	__u32 cause;
	__u32 heartbeat;
	__u64 busy_ns;
	__u64 bell;
	__u64 memory_step;
	__u32 resized;
	__s32 resize_error;
	char message[256];
};

/**
 * struct shimos_console_out - output of the partition's console
 * @head: the agent's
 * @reserved: the agent's cache line goes on
 * @data: the bytes
 *
 * The writer never waits: it overwrites the oldest bytes.  @head counts all bytes ever written;
 * the byte number n lies at data[n % SHIMOS_CONSOLE_OUT_LEN].
 */
struct shimos_console_out {
	__u64 head;
	__u64 reserved[7];
	__u8 data[SHIMOS_CONSOLE_OUT_LEN];
};

/**
 * struct shimos_console_in - keyboard input: one writer (KLoader), one reader (the agent)
 * @head: KLoader's: bytes ever written
 * @reserved: KLoader's cache line goes on
 * @tail: the agent's: bytes ever read
 * @reserved2: the agent's cache line goes on
 * @data: the byte number n lies at data[n % SHIMOS_CONSOLE_IN_LEN]
 */
struct shimos_console_in {
	__u64 head;
	__u64 reserved[7];
	__u64 tail;
	__u64 reserved2[7];
	__u8 data[SHIMOS_CONSOLE_IN_LEN];
};

/**
 * struct shimos_last_log - the end of the kernel log as the agent's panic handler saw it
 * @length: the agent's: bytes valid in @text
 * @reserved: not used
 * @text: its end
 */
struct shimos_last_log {
	__u32 length;
	__u32 reserved[15];
	char text[SHIMOS_LAST_LOG_LEN];
};

/**
 * struct shimos_interrupt - an interrupt of a given device, on a host that remaps interrupts
 * @address: of the message by which the device asks for it
 * @cpu: the hardware id of the CPU that gets it
 * @data: of the message
 * @vector: which that CPU gets
 * @segment: of the device, as the partition knows it
 * @bus: of the device
 * @devfn: its device and function, as in PCI's own addresses
 * @index: of the message, among the device's
 */
struct shimos_interrupt {
	__u64 address;
	__u64 cpu;
	__u32 data;
	__u32 vector;
	__u16 segment;
	__u8 bus;
	__u8 devfn;
	__u32 index;
};

/**
 * struct shimos_interrupts - those that the host has made for given devices
 * @count: how many; 0: the devices make their own
 * @reserved: not used
 * @buses: x86: physical address of the ACPI table with their buses, which is to be loaded when
 *	their drivers can have these interrupts
 * @reserved2: not used
 * @list: them, those of a device one after the other
 *
 * KLoader's, constant while the partition runs.
 */
struct shimos_interrupts {
	__u32 count;
	__u32 reserved;
	__u64 buses;
	__u64 reserved2[6];
	struct shimos_interrupt list[SHIMOS_MAX_INTERRUPTS];
};

#endif
