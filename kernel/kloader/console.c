// SPDX-License-Identifier: GPL-2.0
/*
 * The host's end of a partition's console.  Output lies in a ring that the
 * partition overwrites without asking; each open descriptor has a place of its
 * own in it, so that any number can watch, also after the partition's death.
 */
#include <linux/anon_inodes.h>
#include <linux/fs.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "kloader.h"

#define OUT_LEN	SHIMOS_CONSOLE_OUT_LEN
#define IN_LEN	SHIMOS_CONSOLE_IN_LEN

struct watcher {
	struct partition *p;
	struct mutex mutex;	/* guards place */
	u64 place;		/* bytes of output seen */
};

static struct shimos_console_out *output(struct partition *p)
{
	return (void *)p->shared + SHIMOS_CONSOLE_OUT;
}

static struct shimos_console_in *input(struct partition *p)
{
	return (void *)p->shared + SHIMOS_CONSOLE_IN;
}

/* Unread bytes; moves a place that was overwritten to the oldest byte kept. */
static u64 unread(struct partition *p, u64 *place)
{
	/* pairs with the agent's store of head after the bytes */
	u64 head = smp_load_acquire(&output(p)->head);

	if (*place > head)	/* a hostile head; nothing sensible to show */
		*place = head;
	if (head - *place > OUT_LEN)
		*place = head - OUT_LEN;
	return head - *place;
}

static bool has_output(struct watcher *w)
{
	u64 place = READ_ONCE(w->place);
	bool ret;

	down_read(&w->p->memory_sem);
	ret = w->p->shared && unread(w->p, &place);
	up_read(&w->p->memory_sem);
	return ret;
}

/* Is there nothing more to come unless it is started again? */
static bool is_over(struct partition *p)
{
	return READ_ONCE(p->gone) || READ_ONCE(p->state) >= SHIMOS_STOPPED;
}

static ssize_t copy_output(struct watcher *w, char __user *to, size_t len)
{
	struct partition *p = w->p;
	size_t at, left;
	ssize_t ret = 0;

	down_read(&p->memory_sem);
	if (!p->shared)
		goto up;
	len = min_t(u64, len, unread(p, &w->place));
	at = w->place % OUT_LEN;
	len = min_t(size_t, len, OUT_LEN - at);
	left = copy_to_user(to, output(p)->data + at, len);
	ret = left && left == len ? -EFAULT : len - left;
	if (ret > 0)
		w->place += ret;
up:
	up_read(&p->memory_sem);
	return ret;
}

static ssize_t console_read(struct file *file, char __user *to, size_t len, loff_t *pos)
{
	struct watcher *w = file->private_data;
	ssize_t ret;

	if (!len)
		return 0;
	for (;;) {
		mutex_lock(&w->mutex);
		ret = copy_output(w, to, len);
		mutex_unlock(&w->mutex);
		if (ret || (is_over(w->p) && !has_output(w)))
			return ret;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		ret = wait_event_interruptible(w->p->console_wait,
					       has_output(w) || is_over(w->p));
		if (ret)
			return ret;
	}
}

/* Room for input.  The tail is the peer's: believe it only if it can be. */
static u32 input_room(struct partition *p)
{
	/* pairs with the agent's store of tail after it took the bytes */
	u64 used = p->input_head - smp_load_acquire(&input(p)->tail);

	return used <= IN_LEN ? IN_LEN - used : 0;
}

static ssize_t put_input(struct partition *p, const u8 *from, size_t len)
{
	struct shimos_console_in *in;
	ssize_t ret = -ENOTCONN;
	size_t i;

	down_read(&p->memory_sem);
	mutex_lock(&p->input_mutex);
	if (p->shared && life_is_up(p)) {
		in = input(p);
		ret = min_t(size_t, len, input_room(p));
		for (i = 0; i < ret; i++)
			in->data[(p->input_head + i) % IN_LEN] = from[i];
		p->input_head += ret;
		/* pairs with the agent's load of head before the bytes */
		smp_store_release(&in->head, p->input_head);
		if (ret)
			life_ring(p);
	}
	mutex_unlock(&p->input_mutex);
	up_read(&p->memory_sem);
	return ret;
}

static bool has_room(struct partition *p)
{
	bool ret;

	down_read(&p->memory_sem);
	ret = !p->shared || !life_is_up(p) || input_room(p);
	up_read(&p->memory_sem);
	return ret;
}

static ssize_t console_write(struct file *file, const char __user *from, size_t len,
			     loff_t *pos)
{
	struct watcher *w = file->private_data;
	u8 chunk[128];
	ssize_t ret;

	len = min(len, sizeof(chunk));
	if (copy_from_user(chunk, from, len))
		return -EFAULT;
	for (;;) {
		ret = put_input(w->p, chunk, len);
		if (ret || !len)
			return ret;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		/* the agent rings when it has read a full ring */
		ret = wait_event_interruptible(w->p->console_wait, has_room(w->p));
		if (ret)
			return ret;
	}
}

static __poll_t console_poll(struct file *file, poll_table *wait)
{
	struct watcher *w = file->private_data;
	__poll_t mask = 0;

	poll_wait(file, &w->p->console_wait, wait);
	if (has_output(w))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (is_over(w->p))
		mask |= EPOLLIN | EPOLLRDHUP;
	if (has_room(w->p))
		mask |= EPOLLOUT | EPOLLWRNORM;
	return mask;
}

static void count_watchers(struct partition *p, int change)
{
	int count = atomic_add_return(change, &p->watchers);

	down_read(&p->memory_sem);
	if (p->shared)
		WRITE_ONCE(p->shared->watchers, count);
	up_read(&p->memory_sem);
}

static int console_release(struct inode *inode, struct file *file)
{
	struct watcher *w = file->private_data;

	count_watchers(w->p, -1);
	partition_put(w->p);
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

/* Hard interrupt: there may be output, or room for input. */
void console_rang(struct partition *p)
{
	wake_up_all(&p->console_wait);
}

/* A new descriptor that holds the partition.  Starts at the oldest byte kept. */
int console_open(struct partition *p)
{
	struct watcher *w = kzalloc(sizeof(*w), GFP_KERNEL);
	int fd;

	if (!w)
		return -ENOMEM;
	mutex_init(&w->mutex);
	w->p = p;
	kref_get(&p->ref);
	count_watchers(p, 1);
	fd = anon_inode_getfd("[shimos-console]", &console_fops, w,
			      O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		count_watchers(p, -1);
		partition_put(p);
		kfree(w);
	}
	return fd;
}
