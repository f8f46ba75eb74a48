// SPDX-License-Identifier: GPL-2.0
/*
 * The host's end of a partition's console.  Output lies in a ring that the
 * partition overwrites without asking; each open descriptor has a place of its
 * own in it, so that any number can watch, also after the partition's death.
 */
#include <linux/anon_inodes.h>
#include <linux/fs.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include "kloader.h"

#define CONSOLE_OUT_LEN	SHIMOS_CONSOLE_OUT_LEN
#define CONSOLE_IN_LEN	SHIMOS_CONSOLE_IN_LEN

struct console_watcher {
	struct partition *p;
	struct mutex mutex;	/* guards place */
	u64 place;		/* bytes of output seen */
};

static struct shimos_console_out *console_out(struct partition *p)
{
	return (void *)p->shared + SHIMOS_CONSOLE_OUT;
}

static struct shimos_console_in *console_in(struct partition *p)
{
	return (void *)p->shared + SHIMOS_CONSOLE_IN;
}

/* Unread bytes; moves a place that was overwritten to the oldest byte kept. */
static u64 console_unread(struct partition *p, u64 *place)
{
	/* pairs with the agent's store of head after the bytes */
	u64 head = smp_load_acquire(&console_out(p)->head);

	if (*place > head)	/* a hostile head; nothing sensible to show */
		*place = head;
	if (head - *place > CONSOLE_OUT_LEN)
		*place = head - CONSOLE_OUT_LEN;
	return head - *place;
}

static bool console_has_output(struct console_watcher *w)
{
	u64 place = READ_ONCE(w->place);
	bool ret;

	down_read(&w->p->memory_sem);
	ret = w->p->shared && console_unread(w->p, &place);
	up_read(&w->p->memory_sem);
	return ret;
}

/* Is there nothing more to come unless it is started again? */
static bool console_is_over(struct partition *p)
{
	return READ_ONCE(p->gone) || READ_ONCE(p->state) >= SHIMOS_STOPPED;
}

static ssize_t console_copy_output(struct console_watcher *w, char __user *to, size_t len)
{
	struct partition *p = w->p;
	size_t at, left;
	ssize_t ret = 0;

	down_read(&p->memory_sem);
	if (!p->shared)
		goto up;
	len = min_t(u64, len, console_unread(p, &w->place));
	at = w->place % CONSOLE_OUT_LEN;
	len = min_t(size_t, len, CONSOLE_OUT_LEN - at);
	left = copy_to_user(to, console_out(p)->data + at, len);
	ret = left && left == len ? -EFAULT : len - left;
	if (ret > 0)
		w->place += ret;
up:
	up_read(&p->memory_sem);
	return ret;
}

/*
 * Sleep until @ready says so.  It takes the memory's semaphore, so it may not be a
 * condition of wait_event(), which is looked at when the task is no longer running.
 */
static int console_wait(struct console_watcher *w, bool (*ready)(struct console_watcher *w))
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	int ret = 0;

	add_wait_queue(&w->p->console_wait, &wait);
	while (!ret && !ready(w)) {
		if (signal_pending(current))
			ret = -ERESTARTSYS;
		else
			wait_woken(&wait, TASK_INTERRUPTIBLE, MAX_SCHEDULE_TIMEOUT);
	}
	remove_wait_queue(&w->p->console_wait, &wait);
	return ret;
}

static bool console_readable(struct console_watcher *w)
{
	return console_has_output(w) || console_is_over(w->p);
}

static ssize_t console_read(struct file *file, char __user *to, size_t len, loff_t *pos)
{
	struct console_watcher *w = file->private_data;
	ssize_t ret;

	if (!len)
		return 0;
	for (;;) {
		mutex_lock(&w->mutex);
		ret = console_copy_output(w, to, len);
		mutex_unlock(&w->mutex);
		if (ret || (console_is_over(w->p) && !console_has_output(w)))
			return ret;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		ret = console_wait(w, console_readable);
		if (ret)
			return ret;
	}
}

/* Room for input.  The tail is the peer's: believe it only if it can be. */
static u32 console_room(struct partition *p)
{
	/* pairs with the agent's store of tail after it took the bytes */
	u64 used = p->input_head - smp_load_acquire(&console_in(p)->tail);

	return used <= CONSOLE_IN_LEN ? CONSOLE_IN_LEN - used : 0;
}

static ssize_t console_put_input(struct partition *p, const u8 *from, size_t len)
{
	struct shimos_console_in *in;
	ssize_t ret = -ENOTCONN;
	size_t i;

	down_read(&p->memory_sem);
	mutex_lock(&p->input_mutex);
	if (p->shared && state_is_up(p)) {
		in = console_in(p);
		ret = min_t(size_t, len, console_room(p));
		for (i = 0; i < ret; i++)
			in->data[(p->input_head + i) % CONSOLE_IN_LEN] = from[i];
		p->input_head += ret;
		/* pairs with the agent's load of head before the bytes */
		smp_store_release(&in->head, p->input_head);
		if (ret)
			p->kind->ring(p);
	}
	mutex_unlock(&p->input_mutex);
	up_read(&p->memory_sem);
	return ret;
}

static bool console_has_room(struct partition *p)
{
	bool ret;

	down_read(&p->memory_sem);
	ret = !p->shared || !state_is_up(p) || console_room(p);
	up_read(&p->memory_sem);
	return ret;
}

static bool console_writable(struct console_watcher *w)
{
	return console_has_room(w->p);
}

static ssize_t console_write(struct file *file, const char __user *from, size_t len,
			     loff_t *pos)
{
	struct console_watcher *w = file->private_data;
	u8 chunk[128];
	ssize_t ret;

	len = min(len, sizeof(chunk));
	if (copy_from_user(chunk, from, len))
		return -EFAULT;
	for (;;) {
		ret = console_put_input(w->p, chunk, len);
		if (ret || !len)
			return ret;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		/* the agent rings when it has read a full ring */
		ret = console_wait(w, console_writable);
		if (ret)
			return ret;
	}
}

static __poll_t console_poll(struct file *file, poll_table *wait)
{
	struct console_watcher *w = file->private_data;
	__poll_t mask = 0;

	poll_wait(file, &w->p->console_wait, wait);
	if (console_has_output(w))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (console_is_over(w->p))
		mask |= EPOLLIN | EPOLLRDHUP;
	if (console_has_room(w->p))
		mask |= EPOLLOUT | EPOLLWRNORM;
	return mask;
}

static void console_count_watchers(struct partition *p, int change)
{
	int count = atomic_add_return(change, &p->watchers);

	down_read(&p->memory_sem);
	if (p->shared)
		WRITE_ONCE(p->shared->watchers, count);
	up_read(&p->memory_sem);
}

static int console_release(struct inode *inode, struct file *file)
{
	struct console_watcher *w = file->private_data;

	console_count_watchers(w->p, -1);
	table_put(w->p);
	kfree(w);
	return 0;
}

static const struct file_operations console_fops = {
	.owner		= THIS_MODULE,
	.read		= console_read,
	.write		= console_write,
	.poll		= console_poll,
	.release	= console_release,
};

/**
 * console_open() - a new descriptor that holds the partition
 * @p: whose console
 * @c: why not
 *
 * Starts at the oldest byte kept.
 *
 * Context: may sleep.
 * Return: the descriptor or an error.
 */
int console_open(struct partition *p, struct complaint *c)
{
	struct console_watcher *w = kzalloc(sizeof(*w), GFP_KERNEL);
	int fd;

	if (!w)
		return -ENOMEM;
	mutex_init(&w->mutex);
	w->p = p;
	kref_get(&p->ref);
	console_count_watchers(p, 1);
	fd = anon_inode_getfd("[shimos-console]", &console_fops, w,
			      O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		console_count_watchers(p, -1);
		table_put(p);
		kfree(w);
	}
	return fd;
}
