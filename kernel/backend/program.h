/* SPDX-License-Identifier: GPL-2.0 */
/* Devices that a program serves: what its files share. */
#ifndef _SHIMOS_PROGRAM_H
#define _SHIMOS_PROGRAM_H

#include <linux/eventfd.h>
#include <linux/fs.h>
#include <linux/irq_work.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <shimos/door.h>
#include <uapi/shimos_program.h>

#include "backend.h"

/**
 * struct program_ring - a virtqueue's two eventfds
 * @program: whose
 * @ring: the same of the device
 * @kick: @program->kick_lock; NULL: none
 * @kick_work: signals it
 * @call: @program->mutex; NULL: none
 * @wait: on @call
 * @poll: puts @wait there
 */
struct program_ring {
	struct program *program;
	struct backend_ring *ring;
	struct eventfd_ctx *kick;
	struct irq_work kick_work;
	struct eventfd_ctx *call;
	wait_queue_entry_t wait;
	poll_table poll;
};

/**
 * struct program - a device that a program serves
 * @ref: the device's, the descriptor's, and one for each file on memory
 * @backend: the device, with a reference
 * @session: of the descriptor: why the last call was refused
 * @asked: when there is something to be done, when it is done, and when either side goes
 * @mutex: guards all up to @serving; the eventfds change under it
 * @event: enum shimos_program_event: what it was asked last
 * @sequence: of that
 * @answered: the same of the last answer
 * @error: of that, negative
 * @closed: the program has closed the descriptor, or died
 * @gone: the device is
 * @reachable: the memory may be mapped: from START until STOP is done
 * @mapping: all who map the memory
 * @kick_lock: guards the kicks; taken in interrupts, before eventfds' own locks
 * @call_lock: guards @serving; taken within eventfds' own locks, for one may be both
 * @serving: the rings may be used
 * @ring: eventfds of each
 */
struct program {
	struct kref ref;
	struct backend *backend;
	struct shimos_door_session session;
	wait_queue_head_t asked;
	struct mutex mutex;
	u32 event, sequence, answered;
	int error;
	bool closed, gone;
	bool reachable;
	struct address_space mapping;
	spinlock_t kick_lock;
	spinlock_t call_lock;
	bool serving;
	struct program_ring ring[SHIMOS_PROGRAM_QUEUES];
};

/**
 * program_put() - drop a reference
 * @program: whose
 *
 * Context: May sleep.
 */
void program_put(struct program *program);
/**
 * program_add() - share a device that the caller serves
 * @arg: the call's, checked as far as all calls are; fd and id are filled in
 * @c: why not
 *
 * Context: May sleep.
 * Return: 0 or a negative errno.
 */
int program_add(struct shimos_dev_add_program *arg, struct complaint *c);

/* ---- program_events.c: eventfds ---- */

/**
 * program_events_init() - prepare: no ring has eventfds yet
 * @program: whose, with its device
 *
 * Context: Any.
 */
void program_events_init(struct program *program);
/**
 * program_events_set() - take a ring's eventfds
 * @program: whose; the caller holds its mutex
 * @arg: which
 * @c: why not
 *
 * Context: May sleep.
 * Return: 0 or a negative errno; then those from before are there still.
 */
int program_events_set(struct program *program, const struct shimos_program_events *arg,
		       struct complaint *c);
/**
 * program_events_clear() - let go of all
 * @program: whose; nobody else uses it any more
 *
 * Context: May sleep.
 */
void program_events_clear(struct program *program);
/**
 * program_kick() - the user rang for a ring
 * @program: whose
 * @n: which ring
 *
 * Context: Any but NMI.
 */
void program_kick(struct program *program, unsigned int n);

/* ---- program_memory.c: the user's memory, mapped ---- */

/**
 * program_memory_init() - prepare: nobody has mapped it yet
 * @program: whose
 *
 * Context: Any.
 */
void program_memory_init(struct program *program);
/**
 * program_memory_open() - make a file on the user's memory
 * @program: whose
 *
 * Context: May sleep.
 * Return: a descriptor or a negative errno.
 */
int program_memory_open(struct program *program);
/**
 * program_memory_revoke() - nobody reaches it any more when this returns
 * @program: whose
 *
 * Context: May sleep; takes its mutex.
 */
void program_memory_revoke(struct program *program);

/* ---- program_file.c: the descriptor ---- */

/**
 * program_file_make() - make the file by which the program serves
 * @program: what it serves; the file takes a reference, and removes the device when it is closed
 *
 * Context: May sleep.
 * Return: the file, or an error pointer.
 */
struct file *program_file_make(struct program *program);

#endif
