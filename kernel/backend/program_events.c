// SPDX-License-Identifier: GPL-2.0
/* Devices that a program serves: the eventfds by which the two sides call each other. */
#include <linux/file.h>
#include <shimos/compat.h>

#include "program.h"

/* ---- from the program ---- */

/* It has signalled @wait's eventfd, whose lock is held; interrupts are off. */
static int program_called(wait_queue_entry_t *wait, unsigned int mode, int sync, void *key)
{
	struct program_ring *r = container_of(wait, struct program_ring, wait);
	u64 count;

	if (!(key_to_poll(key) & EPOLLIN))
		return 0;
	eventfd_ctx_do_read(r->call, &count);
	spin_lock(&r->program->call_lock);
	if (r->program->serving)
		backend_call_anyway(r->ring);
	spin_unlock(&r->program->call_lock);
	return 0;
}

static void program_add_wait(struct file *file, wait_queue_head_t *head, poll_table *poll)
{
	struct program_ring *r = container_of(poll, struct program_ring, poll);

	add_wait_queue(head, &r->wait);
}

static void program_drop_call(struct program_ring *r)
{
	u64 count;

	if (!r->call)
		return;
	eventfd_ctx_remove_wait_queue(r->call, &r->wait, &count);
	eventfd_ctx_put(r->call);
	r->call = NULL;
}

static void program_take_call(struct program_ring *r, struct file *file, struct eventfd_ctx *call)
{
	program_drop_call(r);
	r->call = call;
	/* what was signalled before counts as well */
	if (vfs_poll(file, &r->poll) & EPOLLIN)
		compat_eventfd_signal(call);
}

/* ---- from the user ---- */

static void program_signal_kick(struct irq_work *work)
{
	struct program_ring *r = container_of(work, struct program_ring, kick_work);
	unsigned long flags;

	spin_lock_irqsave(&r->program->kick_lock, flags);
	if (r->kick)
		compat_eventfd_signal(r->kick);
	spin_unlock_irqrestore(&r->program->kick_lock, flags);
}

void program_kick(struct program *program, unsigned int n)
{
	struct irq_work *work = &program->ring[n].kick_work;

	/* there an eventfd's lock may sleep, and this is a thread's work */
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		irq_work_queue(work);
	else
		program_signal_kick(work);
}

static void program_take_kick(struct program_ring *r, struct eventfd_ctx *kick)
{
	struct eventfd_ctx *old;

	spin_lock_irq(&r->program->kick_lock);
	old = r->kick;
	r->kick = kick;
	/* the driver may have rung before */
	if (kick)
		compat_eventfd_signal(kick);
	spin_unlock_irq(&r->program->kick_lock);
	if (old)
		eventfd_ctx_put(old);
}

/* ---- both ---- */

void program_events_init(struct program *program)
{
	unsigned int n;

	for (n = 0; n < SHIMOS_PROGRAM_QUEUES; n++) {
		struct program_ring *r = &program->ring[n];

		r->program = program;
		r->ring = &program->backend->ring[n];
		init_irq_work(&r->kick_work, program_signal_kick);
		init_waitqueue_func_entry(&r->wait, program_called);
		init_poll_funcptr(&r->poll, program_add_wait);
	}
}

/* NULL: @fd is -1. */
static struct eventfd_ctx *program_get_eventfd(int fd, struct complaint *c)
{
	struct eventfd_ctx *found;

	if (fd == -1)
		return NULL;
	found = eventfd_ctx_fdget(fd);
	if (IS_ERR(found))
		shimos_refuse(c, PTR_ERR(found), "descriptor %d is no eventfd", fd);
	return found;
}

int program_events_set(struct program *program, const struct shimos_program_events *arg,
		       struct complaint *c)
{
	struct eventfd_ctx *kick, *call;
	struct program_ring *r;
	struct file *file;

	lockdep_assert_held(&program->mutex);
	if (arg->queue >= program->backend->queues)
		return shimos_refuse(c, -EINVAL, "the device has %u virtqueues, and none with number %u",
				     program->backend->queues, arg->queue);
	r = &program->ring[arg->queue];
	kick = program_get_eventfd(arg->kick, c);
	if (IS_ERR(kick))
		return PTR_ERR(kick);
	if (arg->call == -1) {
		program_drop_call(r);
		program_take_kick(r, kick);
		return 0;
	}
	file = fget(arg->call);
	call = file ? eventfd_ctx_fileget(file) : ERR_PTR(-EBADF);
	if (IS_ERR(call)) {
		if (kick)
			eventfd_ctx_put(kick);
		if (file)
			fput(file);
		return shimos_refuse(c, PTR_ERR(call), "descriptor %d is no eventfd", arg->call);
	}
	program_take_kick(r, kick);
	program_take_call(r, file, call);
	fput(file);
	return 0;
}

void program_events_clear(struct program *program)
{
	unsigned int n;

	for (n = 0; n < SHIMOS_PROGRAM_QUEUES; n++) {
		program_drop_call(&program->ring[n]);
		irq_work_sync(&program->ring[n].kick_work);
		program_take_kick(&program->ring[n], NULL);
	}
}
