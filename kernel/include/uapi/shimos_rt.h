/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * What a real-time partition's image is, what it finds when it is entered, and what
 * it can ask of the layer that it runs on.  Anybody's RTOS can be built for it.
 *
 * The image is an ELF64 executable (ET_EXEC) for x86-64.  Its segments lie between
 * SHIMOS_RT_FIRST and the end of its memory less SHIMOS_SHARED_SIZE, share no page,
 * and none is both writable and executable: the layer enforces what they say.  What they
 * have beyond the file is 0.  What is in no segment can be read and written, not run.
 * Headers other than PT_LOAD mean nothing here.
 *
 * Its memory begins at address 0, and page 0 is not there.  It is entered at e_entry in
 * 64-bit mode with interrupts off, as:
 *
 *	%rdi			address of struct shimos_rt_boot
 *	%rsp			the end of its memory less SHIMOS_SHARED_SIZE
 *	CR3			every address is what it is physically, in 2 MiB pages
 *	CS, DS, ES, SS		flat; the image loads a GDT of its own before it changes them
 *	IDTR			empty; the image loads its own
 *	RFLAGS			all clear
 *	x87, SSE		as after a reset, MXCSR 0x1f80; and what XGETBV says, if CPUID has
 *				OSXSAVE: Linux has chosen that
 *	CR0.TS			the layer's: set or not, floating point works
 *
 * Interrupts come at the vectors below, when RFLAGS.IF is set, and need no end.  HLT with
 * interrupts enabled gives the core to Linux until the next one.  There is no device,
 * no port and no MSR but those of FS and GS; RDTSC is the clock.  NMIs and machine checks
 * are Linux's.
 *
 * It may take part in inter-kernel communication (shimos_ikc.h) as the kernel that struct
 * shimos_shared names.  Chunk n of IKC's area is at SHIMOS_RT_IKC + n * IKC_CHUNK_SIZE, for
 * all below struct shimos_rt_boot.ikc_chunks, and can be read and written, not run.  Its one
 * bell is struct shimos_rt_boot.bell, which comes as SHIMOS_RT_BELL; to ring the host it makes
 * SHIMOS_RT_CALL_RING.  It cannot ring other kernels.
 *
 * Of the area at struct shimos_rt_boot.shared it uses the console, and rings when there is
 * output while @watchers is not 0; @message for its last words; and @request: by
 * SHIMOS_REQUEST_POWEROFF and the bell it is asked to end, which it does by
 * SHIMOS_RT_CALL_END.
 *
 * If struct shimos_rt_boot.watch is not 0 it watches another program: a page that is at
 * address A there can be read at SHIMOS_RT_WATCH + A, if it is one of those that nobody may
 * change.  Which these are, and what they shall hold, is in struct shimos_rt_watch; what it
 * finds it says in struct shimos_rt_report, and rings the host.
 */
#ifndef _UAPI_SHIMOS_RT_H
#define _UAPI_SHIMOS_RT_H

#include <linux/types.h>

#define SHIMOS_RT_MAGIC		0x3154524f4d494853ULL	/* "SHIMORT1" */
#define SHIMOS_RT_VERSION	2

/* Below is the boot record, and what the CPU reads: page tables, segments. */
#define SHIMOS_RT_BOOT		0x1000
#define SHIMOS_RT_FIRST		0x10000

#define SHIMOS_RT_MIN_MEMORY	(1ULL << 20)
#define SHIMOS_RT_MAX_MEMORY	(1ULL << 30)

/* Above all memory: IKC's area. */
#define SHIMOS_RT_IKC		0x40000000

/* Above that, of one that watches: the other's memory, and the records of both sides. */
#define SHIMOS_RT_WATCH		0x80000000
#define SHIMOS_RT_REPORT	0xc0000000
#define SHIMOS_RT_WATCH_LIST	0xc0001000
#define SHIMOS_RT_WATCH_PAGES	4096	/* the most that can be watched */
#define SHIMOS_RT_DIGEST	32	/* bytes of a SHA-256 */

#define SHIMOS_RT_CODE_SELECTOR	0x08
#define SHIMOS_RT_DATA_SELECTOR	0x10

/**
 * enum shimos_rt_vector - interrupts of a program
 * @SHIMOS_RT_TIMER: the deadline has come
 * @SHIMOS_RT_BELL: a queue of IKC's has something, or KLoader wants something
 */
enum shimos_rt_vector {
	SHIMOS_RT_TIMER = 32,
	SHIMOS_RT_BELL = 33,
};

/**
 * struct shimos_rt_boot - what a program finds when it is entered
 * @magic: SHIMOS_RT_MAGIC
 * @version: SHIMOS_RT_VERSION
 * @size: of this
 * @memory: bytes from address 0
 * @shared: address of struct shimos_shared
 * @cycles_per_second: of RDTSC
 * @bell: its own, as IKC's table wants it: a SHIMOS_BELL
 * @ikc_chunks: how many it can use; grows before IKC's table says so
 * @watch: not 0: it watches another program
 */
struct shimos_rt_boot {
	__u64 magic;
	__u32 version;
	__u32 size;
	__u64 memory;
	__u64 shared;
	__u64 cycles_per_second;
	__u64 bell;
	__u32 ikc_chunks;
	__u32 watch;
};

/**
 * struct shimos_rt_page - a page of the other's, and what it shall hold
 * @address: there
 * @digest: of its contents
 */
struct shimos_rt_page {
	__u64 address;
	__u8 digest[SHIMOS_RT_DIGEST];
};

/**
 * struct shimos_rt_watch - at SHIMOS_RT_WATCH_LIST, the host's, to be read only
 * @generation: odd while there is nothing to be watched.  Whoever has read something by this
 *	record looks again: if it is another one now, what was read means nothing
 * @count: of pages
 * @pages: what is watched
 */
struct shimos_rt_watch {
	__u32 generation;
	__u32 count;
	struct shimos_rt_page pages[SHIMOS_RT_WATCH_PAGES];
};

/**
 * struct shimos_rt_report - at SHIMOS_RT_REPORT, the program's; what is behind it in its page means nothing
 * @found: generation << 32 | number of a page in the list that is not what it shall be; 0: none
 * @rounds: times that it has been through the list
 */
struct shimos_rt_report {
	__u64 found;
	__u64 rounds;
};

/**
 * enum shimos_rt_call - VMMCALL: number in RAX, argument in RDI
 * @SHIMOS_RT_CALL_TIMER: the next timer interrupt, in cycles of RDTSC, instead of the one asked
 *	for before; 0: none.  One in the past comes at once.  It comes once
 * @SHIMOS_RT_CALL_READY: it is up: the partition's state becomes running
 * @SHIMOS_RT_CALL_END: it ends, by an enum shimos_rt_end; does not return
 * @SHIMOS_RT_CALL_RING: ring the host: somebody watches the console, and there is output; or
 *	IKC's table says what there is to look at
 *
 * RAX returns 0, or -1 if there is no such call.  All other registers stay.
 */
enum shimos_rt_call {
	SHIMOS_RT_CALL_TIMER = 1,
	SHIMOS_RT_CALL_READY,
	SHIMOS_RT_CALL_END,
	SHIMOS_RT_CALL_RING,
};

/**
 * enum shimos_rt_end - how a program ends
 * @SHIMOS_RT_END_STOPPED: because it was asked to
 * @SHIMOS_RT_END_FAILED: by its own judgement; it has said why on its console
 */
enum shimos_rt_end {
	SHIMOS_RT_END_STOPPED = 1,
	SHIMOS_RT_END_FAILED,
};

#endif
