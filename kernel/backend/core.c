// SPDX-License-Identifier: GPL-2.0
/*
 * The life of a shared device: offering it to its user, starting and stopping with
 * the user's driver, ending with the user or before it.
 *
 * What other kernels and interrupts report is only noted; a work per device takes
 * the steps one after the other and may wait for I/O.  Announcements are made by
 * one work for all devices, so that users see them in the order of their ids.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/virtio_config.h>

#include "backend.h"
#include "core.h"

#define PACKETS		64	/* of the queue that users write to */
#define ANSWER_TIMEOUT	(10 * HZ)

/* backend.events */
enum {
	USER_DOWN,		/* its kernel ended */
	USER_GONE,		/* its kernel does not exist any more */
	USER_LEFT,		/* its transport was unloaded */
	BROKEN,			/* backend_break() */
};

static struct workqueue_struct *backend_wq;

static void backend_control(struct work_struct *work);
static DECLARE_WORK(control_work, backend_control);

/* ---- steps ---- */

static struct ikc_packet backend_take_request(struct backend *b)
{
	struct ikc_packet pkt;

	spin_lock_irq(&b->lock);
	pkt = b->request;
	b->request.cmd = 0;
	spin_unlock_irq(&b->lock);
	return pkt;
}

static void backend_drop_block(const struct ikc_packet *pkt)
{
	if (pkt->flags == IKC_DATA_SHARED)
		ikc_free(ikc_pointer(pkt->data));
}

static void backend_handle_request(struct backend *b)
{
	struct ikc_packet pkt = backend_take_request(b);
	int ret = 0;

	if (!pkt.cmd)
		return;
	if (pkt.cmd == SHIMOS_VIRTIO_START)
		ret = pkt.flags == IKC_DATA_SHARED ? backend_handle_start(b, &pkt) : -EINVAL;
	else
		backend_stop(b);
	backend_drop_block(&pkt);
	spin_lock_irq(&b->lock);
	if (!ret && b->life == SHIMOS_DEV_BROKEN)
		b->life = SHIMOS_DEV_OFFERED;	/* the driver begins anew */
	spin_unlock_irq(&b->lock);
	backend_send(b, SHIMOS_VIRTIO_ANSWER, pkt.param[1], -ret, NULL, 0);
}

/* The user's kernel has ended: wait for its next life. */
static void backend_handle_down(struct backend *b)
{
	struct ikc_packet pkt;

	backend_stop(b);
	pkt = backend_take_request(b);
	if (pkt.cmd)
		backend_drop_block(&pkt);
	spin_lock_irq(&b->lock);
	b->told = false;
	if (b->life != SHIMOS_DEV_LEAVING)
		b->life = SHIMOS_DEV_WAITING;
	spin_unlock_irq(&b->lock);
	queue_work(backend_wq, &control_work);
}

/* It is not started again: take it off the list and free what it has. */
static void backend_finish(struct backend *b)
{
	lockdep_assert_held(&b->mutex);
	backend_stop(b);
	mutex_lock(&b->finish_mutex);
	b->finished = true;
	mutex_unlock(&b->finish_mutex);
	backend_take_out(b);
	b->ops->release(b);
	backend_put(b);		/* the list's */
}

/* Whoever gets true here has to finish it or make it stay. */
static bool backend_begin_leaving(struct backend *b)
{
	bool mine;

	spin_lock_irq(&b->lock);
	mine = b->life != SHIMOS_DEV_LEAVING;
	if (mine) {
		b->before = b->life;
		b->life = SHIMOS_DEV_LEAVING;
		b->leave_answer = 1;
	}
	spin_unlock_irq(&b->lock);
	return mine;
}

static void backend_step(struct work_struct *work)
{
	struct backend *b = container_of(work, struct backend, work);

	mutex_lock(&b->mutex);
	if (b->finished)
		goto unlock;
	if (test_and_clear_bit(BROKEN, &b->events))
		backend_stop(b);
	/* whichever it was: it gets the device when it is there again */
	if (test_and_clear_bit(USER_DOWN, &b->events) |
	    test_and_clear_bit(USER_LEFT, &b->events))
		backend_handle_down(b);
	backend_handle_request(b);
	if (test_bit(USER_GONE, &b->events) && backend_begin_leaving(b))
		backend_finish(b);
unlock:
	mutex_unlock(&b->mutex);
	wake_up_all(&b->changed);
	backend_put(b);
}

/* The work has a reference of its own.  Any context. */
static void backend_wake(struct backend *b)
{
	kref_get(&b->ref);
	if (!queue_work(backend_wq, &b->work))
		backend_put(b);
}

void backend_break(struct backend *b, const char *problem)
{
	enum shimos_dev_state *life;
	unsigned long flags;
	unsigned int n;

	for (n = 0; n < b->queues; n++)
		WRITE_ONCE(b->ring[n].v.broken, true);
	spin_lock_irqsave(&b->lock, flags);
	life = b->life == SHIMOS_DEV_LEAVING ? &b->before : &b->life;
	if (*life == SHIMOS_DEV_RUNNING) {
		*life = SHIMOS_DEV_BROKEN;
		strscpy(b->problem, problem, sizeof(b->problem));
		pr_warn_ratelimited("%s: %s wrote nonsense: %s; the device is stopped until its driver starts it again\n",
			b->name, b->user_name, problem);
	}
	spin_unlock_irqrestore(&b->lock, flags);
	set_bit(BROKEN, &b->events);
	backend_wake(b);
}

void backend_break_ring(struct backend_ring *ring)
{
	/* without a problem of its own it was another ring that broke the device */
	if (ring->v.problem)
		backend_break(ring->backend, ring->v.problem);
}

/* ---- packets from users ---- */

/* The user has refused it: it stays here until it is removed, or the user begins anew. */
static void backend_set_refused(struct backend *b, u32 err)
{
	b->told = false;
	b->life = SHIMOS_DEV_BROKEN;
	snprintf(b->problem, sizeof(b->problem), "%s does not accept it: %s", b->user_name,
		 err == EPERM ? "see the parameter 'accept' of its module shimos_virtio" :
		 err == ENOSPC ? "it has as many devices of this kernel as it accepts" :
		 err == EPROTO ? "its module shimos_virtio is of another release" :
		 "it could not make a device of it");
	pr_warn_ratelimited("%s: %s\n", b->name, b->problem);
}

/* @err: see SHIMOS_VIRTIO_REMOVED. */
static void backend_handle_removed(struct backend *b, u32 err)
{
	spin_lock_irq(&b->lock);
	b->leave_answer = err == EBUSY ? -EBUSY : 0;
	if (err && err != EBUSY && b->life == SHIMOS_DEV_OFFERED)
		backend_set_refused(b, err);
	spin_unlock_irq(&b->lock);
	wake_up_all(&b->changed);
	if (!err) {
		set_bit(USER_LEFT, &b->events);
		backend_wake(b);
	}
}

static void backend_handle_packet(const struct ikc_packet *pkt)
{
	struct backend *b = backend_find(pkt->param[0]);
	struct ikc_packet old = {};

	if (!b || b->user != pkt->sender) {
		backend_drop_block(pkt);
		goto put;
	}
	switch (pkt->cmd) {
	case SHIMOS_VIRTIO_START:
	case SHIMOS_VIRTIO_RESET:
		spin_lock_irq(&b->lock);
		old = b->request;	/* it has given up waiting for that */
		b->request = *pkt;
		spin_unlock_irq(&b->lock);
		if (old.cmd)
			backend_drop_block(&old);
		backend_wake(b);
		break;
	case SHIMOS_VIRTIO_REMOVED:
		backend_handle_removed(b, pkt->param[2]);
		backend_drop_block(pkt);
		break;
	default:
		backend_drop_block(pkt);
	}
put:
	if (b)
		backend_put(b);
}

/* Read what users say, and make announcements. */
static void backend_control(struct work_struct *work)
{
	struct ikc_packet pkt;
	struct backend *b;
	u32 id = 0;

	do {
		while (!ikc_read(&pkt, SHIMOS_VIRTIO_OWNER))
			backend_handle_packet(&pkt);
	} while (!ikc_queue_arm(SHIMOS_VIRTIO_OWNER));
	while ((b = backend_next(id))) {
		id = b->id;
		backend_try_to_announce(b);
		backend_put(b);
	}
}

static void backend_control_rang(void *context, unsigned int kernel)
{
	queue_work(backend_wq, &control_work);
}

static void backend_user_changed(void *context, unsigned int kernel, bool up)
{
	struct backend *b;
	u32 id = 0;

	if (up)
		return;		/* `changed` follows */
	while ((b = backend_next(id))) {
		id = b->id;
		if (b->user == kernel) {
			set_bit(USER_DOWN, &b->events);
			backend_wake(b);
		}
		backend_put(b);
	}
}

/*
 * When a partition has been removed, its devices are free again at once.  No step
 * waits for IKC's table, so they may be waited for here.
 */
static void backend_user_gone(void *context, unsigned int kernel)
{
	struct backend *b;
	u32 id = 0;

	while ((b = backend_next(id))) {
		id = b->id;
		if (b->user == kernel) {
			set_bit(USER_GONE, &b->events);
			backend_wake(b);
			flush_work(&b->work);
		}
		backend_put(b);
	}
}

static void backend_users_changed(void *context)
{
	queue_work(backend_wq, &control_work);
}

static const struct ikc_queue_ops control_ops = {
	.notify		= backend_control_rang,
	.peer		= backend_user_changed,
	.gone		= backend_user_gone,
	.changed	= backend_users_changed,
};

/* ---- making and removing ---- */

struct backend *backend_new(const struct backend_ops *ops, u32 user, const char *name)
{
	struct backend *b = kzalloc(sizeof(*b), GFP_KERNEL);
	unsigned int n;

	if (!b)
		return NULL;
	kref_init(&b->ref);
	b->ops = ops;
	b->user = user;
	ikc_kernel_name(user, b->user_name);
	strscpy(b->name, name, sizeof(b->name));
	INIT_LIST_HEAD(&b->link);
	INIT_WORK(&b->work, backend_step);
	mutex_init(&b->mutex);
	mutex_init(&b->finish_mutex);
	spin_lock_init(&b->lock);
	init_waitqueue_head(&b->changed);
	for (n = 0; n < ARRAY_SIZE(b->ring); n++) {
		b->ring[n].backend = b;
		b->ring[n].number = n;
		spin_lock_init(&b->ring[n].lock);
	}
	b->id = backend_new_id();
	return b;
}

int backend_announce(struct backend *b)
{
	int ret;

	b->features |= BIT_ULL(VIRTIO_F_VERSION_1) | BIT_ULL(VIRTIO_RING_F_EVENT_IDX) |
		       BIT_ULL(VIRTIO_RING_F_INDIRECT_DESC);
	ret = backend_insert(b);
	if (!ret)
		queue_work(backend_wq, &control_work);
	return ret;
}

/* Ask the user to let go of it, or tell it that it has to.  0, -EBUSY, -ETIME. */
static int backend_make_user_leave(struct backend *b, bool force)
{
	u32 how = force ? SHIMOS_VIRTIO_GONE : SHIMOS_VIRTIO_ASK;

	if (backend_send(b, SHIMOS_VIRTIO_REMOVE, 0, how, NULL, 0))
		return 0;	/* it runs no more, or has unloaded its transport */
	/* answered, or ended meanwhile */
	if (!wait_event_timeout(b->changed, READ_ONCE(b->leave_answer) <= 0 ||
				!READ_ONCE(b->told), ANSWER_TIMEOUT))
		return -ETIME;
	return READ_ONCE(b->told) ? READ_ONCE(b->leave_answer) : 0;
}

static void backend_end_leaving(struct backend *b)
{
	spin_lock_irq(&b->lock);
	b->life = b->told ? b->before : SHIMOS_DEV_WAITING;
	spin_unlock_irq(&b->lock);
	backend_wake(b);		/* for what it ignored while leaving */
	queue_work(backend_wq, &control_work);
}

int backend_remove(struct backend *b, bool force, struct complaint *c)
{
	int ret;

	if (!backend_begin_leaving(b))
		return shimos_refuse(c, -EALREADY, "%s is being removed already",
				     b->name);
	if (force) {
		mutex_lock(&b->mutex);
		b->ending = true;
		backend_stop(b);
		mutex_unlock(&b->mutex);
	}
	ret = READ_ONCE(b->told) ? backend_make_user_leave(b, force) : 0;
	if (ret && !force) {
		backend_end_leaving(b);
		return ret == -EBUSY ?
		       shimos_refuse(c, ret,
				     "%s is in use in %s (mounted there, or open): let go of it there first, or use force, which makes its users see errors",
				     b->name, b->user_name) :
		       shimos_refuse(c, ret,
				     "%s does not answer: use force to take %s away from it",
				     b->user_name, b->name);
	}
	if (ret)
		pr_warn("%s has not let go of %s, which is gone\n", b->user_name, b->name);
	mutex_lock(&b->mutex);
	backend_finish(b);
	mutex_unlock(&b->mutex);
	return 0;
}

/* ---- the module ---- */

int backend_core_init(void)
{
	int ret;

	backend_wq = alloc_workqueue("shimos_devices", WQ_UNBOUND, 0);
	if (!backend_wq)
		return -ENOMEM;
	ret = ring_open_kicks();
	if (ret)
		goto destroy;
	ret = ikc_queue_open(SHIMOS_VIRTIO_OWNER, PACKETS, &control_ops, NULL);
	if (!ret)
		return 0;
	ring_close_kicks();
destroy:
	destroy_workqueue(backend_wq);
	return ret;
}

void backend_core_exit(void)
{
	struct complaint c;
	struct backend *b;

	while ((b = backend_next(0))) {
		backend_remove(b, true, &c);
		flush_work(&b->work);	/* who was quicker */
		backend_put(b);
	}
	ikc_queue_close(SHIMOS_VIRTIO_OWNER);
	ring_close_kicks();
	destroy_workqueue(backend_wq);
	user_memory_exit();
}
