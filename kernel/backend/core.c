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
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/virtio_config.h>

#include "backend.h"

#define PACKETS		64	/* of the queue that users write to */
#define ANSWER_TIMEOUT	(10 * HZ)

/* backend.events */
enum {
	USER_DOWN,		/* its kernel ended */
	USER_GONE,		/* its kernel does not exist any more */
	USER_LEFT,		/* its transport was unloaded */
	BROKEN,			/* backend_break() */
};

/* Changed under devices_mutex, in the order of ids; doorbells walk it under RCU. */
static LIST_HEAD(devices);
static DEFINE_MUTEX(devices_mutex);
static u32 last_id;				/* devices_mutex */
static struct workqueue_struct *backend_wq;

static void control(struct work_struct *work);
static DECLARE_WORK(control_work, control);

/* ---- finding ---- */

static void backend_free(struct kref *ref)
{
	kfree(container_of(ref, struct backend, ref));
}

void backend_put(struct backend *b)
{
	kref_put(&b->ref, backend_free);
}

struct backend *backend_next(u32 id)
{
	struct backend *b, *found = NULL;

	mutex_lock(&devices_mutex);
	list_for_each_entry(b, &devices, link)
		if (b->id > id) {
			kref_get(&b->ref);
			found = b;
			break;
		}
	mutex_unlock(&devices_mutex);
	return found;
}

struct backend *backend_find(u32 id)
{
	struct backend *b = id ? backend_next(id - 1) : NULL;

	if (!b || b->id == id)
		return b;
	backend_put(b);
	return NULL;
}

int backend_for_each(int (*look)(struct backend *b, void *context), void *context)
{
	struct backend *b;
	int ret = 0;

	mutex_lock(&devices_mutex);
	list_for_each_entry(b, &devices, link) {
		ret = look(b, context);
		if (ret)
			break;
	}
	mutex_unlock(&devices_mutex);
	return ret;
}

unsigned int backend_user_cpus(u32 user)
{
	return clamp(ikc_kernel_cpus(user), 1U, (unsigned int)SHIMOS_VIRTIO_BELLS);
}

/* ---- saying something to the user ---- */

static int send(struct backend *b, enum shimos_virtio_cmd cmd, u32 answered, u32 value,
		void *block, u32 size)
{
	struct ikc_packet pkt = {
		.cmd = cmd,
		.param = { b->id, answered, value },
	};
	int ret;

	if (block) {
		pkt.flags = IKC_DATA_SHARED;
		pkt.data = ikc_offset(block);
		pkt.size = size;
	}
	ret = ikc_write(&pkt, b->user, SHIMOS_VIRTIO_USER);
	if (!ret)
		ikc_notify(b->user, SHIMOS_VIRTIO_USER);
	else if (block)
		ikc_free(block);
	return ret;
}

static int send_description(struct backend *b, enum shimos_virtio_cmd cmd)
{
	struct shimos_virtio_device *device = ikc_alloc(sizeof(*device));

	if (!device)
		return -ENOMEM;
	*device = (struct shimos_virtio_device){
		.version = SHIMOS_VIRTIO_VERSION,
		.size = sizeof(*device),
		.features = b->features,
		.type = b->ops->type,
		.queues = b->queues,
		.ring = b->ring_size,
		.config_len = b->config_len,
	};
	memcpy(device->config, b->config, b->config_len);
	strscpy(device->name, b->name, sizeof(device->name));
	return send(b, cmd, 0, 0, device, sizeof(*device));
}

static void try_to_announce(struct backend *b)
{
	spin_lock_irq(&b->lock);
	/* no error is final: IKC tells when it is worth another try */
	if (b->life == SHIMOS_DEV_WAITING && !send_description(b, SHIMOS_VIRTIO_ADD)) {
		b->life = SHIMOS_DEV_OFFERED;
		b->told = true;
	}
	spin_unlock_irq(&b->lock);
}

void backend_change_config(struct backend *b, const void *config, u32 len)
{
	spin_lock_irq(&b->lock);
	memcpy(b->config, config, len);
	if (b->told)
		send_description(b, SHIMOS_VIRTIO_CHANGE);
	spin_unlock_irq(&b->lock);
}

/* ---- running ---- */

static void stop(struct backend *b)
{
	lockdep_assert_held(&b->mutex);
	if (!b->running)
		return;
	WRITE_ONCE(b->running, false);
	synchronize_rcu();	/* no doorbell looks into it any more */
	b->ops->stop(b);
	user_memory_close(&b->memory);
	spin_lock_irq(&b->lock);
	if (b->life == SHIMOS_DEV_RUNNING)
		b->life = SHIMOS_DEV_OFFERED;
	spin_unlock_irq(&b->lock);
}

static int find_rings(struct backend *b, const struct shimos_virtio_start *start)
{
	unsigned int n;
	int ret = 0;

	b->state = user_memory_at(&b->memory, start->state,
				  struct_size(b->state, ring, b->queues));
	if (!b->state || !IS_ALIGNED(start->state, PAGE_SIZE))
		return -EFAULT;
	for (n = 0; n < b->queues && !ret; n++) {
		struct backend_ring *ring = &b->ring[n];

		ret = vring_open(&ring->v, &b->memory, &start->queue[n], &b->state->ring[n],
				 start->features);
	}
	return ret;
}

/* Look once at each ring: there may be requests from before we listened. */
static void kick_all(struct backend *b)
{
	unsigned int n;

	local_bh_disable();
	for (n = 0; n < b->queues; n++)
		if (b->ring[n].v.size)
			b->ops->kick(b, n);
	local_bh_enable();
}

static int start(struct backend *b, const struct shimos_virtio_start *start)
{
	int ret;

	if (start->version != SHIMOS_VIRTIO_VERSION || start->size != sizeof(*start)) {
		pr_warn_ratelimited("%s for %s: its transport has version %u and %u bytes, this one %u and %zu: install the same release on both sides\n",
			b->name, b->user_name, start->version, start->size,
			SHIMOS_VIRTIO_VERSION, sizeof(*start));
		return -EPROTO;
	}
	if (start->features & ~b->features || start->queues != b->queues ||
	    !(start->features & BIT_ULL(VIRTIO_F_VERSION_1)))
		return -EINVAL;
	ret = user_memory_open(&b->memory, b->user);
	if (ret)
		return ret;
	ret = find_rings(b, start);
	if (ret)
		goto close;
	b->accepted = start->features;
	ret = b->ops->start(b);
	if (ret)
		goto close;
	spin_lock_irq(&b->lock);
	if (b->life != SHIMOS_DEV_LEAVING)
		b->life = SHIMOS_DEV_RUNNING;
	*b->problem = '\0';
	spin_unlock_irq(&b->lock);
	/* pairs with the acquire in kicked() */
	smp_store_release(&b->running, true);
	kick_all(b);
	return 0;

close:
	user_memory_close(&b->memory);
	return ret;
}

/* The driver is ready; @pkt brought what it has set up. */
static int handle_start(struct backend *b, const struct ikc_packet *pkt)
{
	void *block = ikc_pointer(pkt->data);
	struct shimos_virtio_start *copy;
	int ret = -EINVAL;

	stop(b);
	if (pkt->size != sizeof(*copy))
		return ret;
	copy = kmemdup(block, sizeof(*copy), GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	ret = start(b, copy);
	kfree(copy);
	if (ret)
		pr_warn_ratelimited("%s: the driver in %s could not be started: error %d\n", b->name,
			b->user_name, ret);
	return ret;
}

static struct ikc_packet take_request(struct backend *b)
{
	struct ikc_packet pkt;

	spin_lock_irq(&b->lock);
	pkt = b->request;
	b->request.cmd = 0;
	spin_unlock_irq(&b->lock);
	return pkt;
}

static void drop_block(const struct ikc_packet *pkt)
{
	if (pkt->flags == IKC_DATA_SHARED)
		ikc_free(ikc_pointer(pkt->data));
}

static void handle_request(struct backend *b)
{
	struct ikc_packet pkt = take_request(b);
	int ret = 0;

	if (!pkt.cmd)
		return;
	if (pkt.cmd == SHIMOS_VIRTIO_START)
		ret = pkt.flags == IKC_DATA_SHARED ? handle_start(b, &pkt) : -EINVAL;
	else
		stop(b);
	drop_block(&pkt);
	spin_lock_irq(&b->lock);
	if (!ret && b->life == SHIMOS_DEV_BROKEN)
		b->life = SHIMOS_DEV_OFFERED;	/* the driver begins anew */
	spin_unlock_irq(&b->lock);
	send(b, SHIMOS_VIRTIO_ANSWER, pkt.param[1], -ret, NULL, 0);
}

/* The user's kernel has ended: wait for its next life. */
static void handle_down(struct backend *b)
{
	struct ikc_packet pkt;

	stop(b);
	pkt = take_request(b);
	if (pkt.cmd)
		drop_block(&pkt);
	spin_lock_irq(&b->lock);
	b->told = false;
	if (b->life != SHIMOS_DEV_LEAVING)
		b->life = SHIMOS_DEV_WAITING;
	spin_unlock_irq(&b->lock);
	queue_work(backend_wq, &control_work);
}

/* It is not started again: take it off the list and free what it has. */
static void finish(struct backend *b)
{
	lockdep_assert_held(&b->mutex);
	stop(b);
	b->finished = true;
	mutex_lock(&devices_mutex);
	list_del_rcu(&b->link);
	mutex_unlock(&devices_mutex);
	synchronize_rcu();
	b->ops->release(b);
	backend_put(b);		/* the list's */
}

/* Whoever gets true here has to finish it or make it stay. */
static bool begin_leaving(struct backend *b)
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

static void step(struct work_struct *work)
{
	struct backend *b = container_of(work, struct backend, work);

	mutex_lock(&b->mutex);
	if (b->finished)
		goto unlock;
	if (test_and_clear_bit(BROKEN, &b->events))
		stop(b);
	/* whichever it was: it gets the device when it is there again */
	if (test_and_clear_bit(USER_DOWN, &b->events) |
	    test_and_clear_bit(USER_LEFT, &b->events))
		handle_down(b);
	handle_request(b);
	if (test_bit(USER_GONE, &b->events) && begin_leaving(b))
		finish(b);
unlock:
	mutex_unlock(&b->mutex);
	wake_up_all(&b->changed);
	backend_put(b);
}

/* The work has a reference of its own.  Any context. */
static void wake(struct backend *b)
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
	wake(b);
}

/* ---- packets from users ---- */

static void handle_packet(const struct ikc_packet *pkt)
{
	struct backend *b = backend_find(pkt->param[0]);
	struct ikc_packet old = {};

	if (!b || b->user != pkt->sender) {
		drop_block(pkt);
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
			drop_block(&old);
		wake(b);
		break;
	case SHIMOS_VIRTIO_REMOVED:
		spin_lock_irq(&b->lock);
		b->leave_answer = pkt->param[2] ? -EBUSY : 0;
		spin_unlock_irq(&b->lock);
		drop_block(pkt);
		wake_up_all(&b->changed);
		if (!pkt->param[2]) {
			set_bit(USER_LEFT, &b->events);
			wake(b);
		}
		break;
	default:
		drop_block(pkt);
	}
put:
	if (b)
		backend_put(b);
}

/* Read what users say, and make announcements. */
static void control(struct work_struct *work)
{
	struct ikc_packet pkt;
	struct backend *b;
	u32 id = 0;

	do {
		while (!ikc_read(&pkt, SHIMOS_VIRTIO_OWNER))
			handle_packet(&pkt);
	} while (!ikc_queue_arm(SHIMOS_VIRTIO_OWNER));
	while ((b = backend_next(id))) {
		id = b->id;
		try_to_announce(b);
		backend_put(b);
	}
}

static void control_rang(void *context, unsigned int kernel)
{
	queue_work(backend_wq, &control_work);
}

static void peer(void *context, unsigned int kernel, bool up)
{
	struct backend *b;

	if (up)
		return;		/* `changed` follows */
	mutex_lock(&devices_mutex);
	list_for_each_entry(b, &devices, link)
		if (b->user == kernel) {
			set_bit(USER_DOWN, &b->events);
			wake(b);
		}
	mutex_unlock(&devices_mutex);
}

/*
 * When a partition has been removed, its devices are free again at once.  No step
 * waits for IKC's table, so they may be waited for here.
 */
static void gone(void *context, unsigned int kernel)
{
	struct backend *b;
	u32 id = 0;

	while ((b = backend_next(id))) {
		id = b->id;
		if (b->user == kernel) {
			set_bit(USER_GONE, &b->events);
			wake(b);
			flush_work(&b->work);
		}
		backend_put(b);
	}
}

static void changed(void *context)
{
	queue_work(backend_wq, &control_work);
}

static const struct ikc_queue_ops control_ops = {
	.notify		= control_rang,
	.peer		= peer,
	.gone		= gone,
	.changed	= changed,
};

/* ---- doorbells ---- */

/* Hard interrupt, RCU: kernel @user rang bell @context. */
static void kicked(void *context, unsigned int user)
{
	u32 bell = (unsigned long)context;
	struct backend *b;
	u64 kicks, mine;

	list_for_each_entry_rcu(b, &devices, link) {
		/* pairs with the release in start() */
		if (b->user != user || !smp_load_acquire(&b->running))
			continue;
		mine = shimos_virtio_bell_queues(b->ops->type, bell);
		if (!(READ_ONCE(b->state->kicks) & mine))
			continue;
		/* a full barrier: the ring is read after the bit is cleared */
		kicks = atomic64_fetch_andnot(mine, (atomic64_t *)&b->state->kicks) & mine;
		for (; kicks; kicks &= kicks - 1) {
			unsigned int n = __ffs64(kicks);

			if (n >= b->queues || !b->ring[n].v.size)
				continue;
			b->ring[n].count.kicks++;
			b->ops->kick(b, n);
		}
	}
}

static const struct ikc_queue_ops kick_ops = { .notify = kicked };

void backend_complete_together(struct backend_ring *ring, const u16 *head, const u32 *written,
			       unsigned int count)
{
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	while (count--)
		vring_put(&ring->v, *head++, *written++);
	vring_publish(&ring->v);
	spin_unlock_irqrestore(&ring->lock, flags);
}

void backend_complete_quiet(struct backend_ring *ring, u16 head, u32 written)
{
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	vring_put(&ring->v, head, written);
	vring_publish(&ring->v);
	spin_unlock_irqrestore(&ring->lock, flags);
}

static void call_user(struct backend_ring *ring)
{
	struct backend *b = ring->backend;
	u64 bit = BIT_ULL(ring->number);

	lockdep_assert_held(&ring->lock);
	if (!vring_must_call(&ring->v)) {
		ring->count.calls_saved++;
		return;
	}
	/* a full barrier; if the bit was set, the doorbell is on its way */
	if (atomic64_fetch_or(bit, (atomic64_t *)&b->state->calls) & bit) {
		ring->count.calls_saved++;
		return;
	}
	ring->count.calls++;
	ikc_ring(b->user, SHIMOS_VIRTIO_CALL + shimos_virtio_bell(b->ops->type, ring->number));
}

void backend_call(struct backend_ring *ring)
{
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	call_user(ring);
	spin_unlock_irqrestore(&ring->lock, flags);
}

void backend_complete(struct backend_ring *ring, u16 head, u32 written)
{
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	vring_put(&ring->v, head, written);
	vring_publish(&ring->v);
	call_user(ring);
	spin_unlock_irqrestore(&ring->lock, flags);
}

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
	INIT_WORK(&b->work, step);
	mutex_init(&b->mutex);
	spin_lock_init(&b->lock);
	init_waitqueue_head(&b->changed);
	for (n = 0; n < ARRAY_SIZE(b->ring); n++) {
		b->ring[n].backend = b;
		b->ring[n].number = n;
		spin_lock_init(&b->ring[n].lock);
	}
	mutex_lock(&devices_mutex);
	b->id = ++last_id;
	mutex_unlock(&devices_mutex);
	return b;
}

static int count_of_user(struct backend *b)
{
	struct backend *other;
	int count = 0;

	lockdep_assert_held(&devices_mutex);
	list_for_each_entry(other, &devices, link)
		count += other->user == b->user;
	return count;
}

int backend_announce(struct backend *b)
{
	struct backend *other;
	struct list_head *before = &devices;
	int ret = 0;

	b->features |= BIT_ULL(VIRTIO_F_VERSION_1) | BIT_ULL(VIRTIO_RING_F_EVENT_IDX) |
		       BIT_ULL(VIRTIO_RING_F_INDIRECT_DESC);
	mutex_lock(&devices_mutex);
	if (count_of_user(b) >= SHIMOS_DEV_PER_USER) {
		ret = -ENOSPC;
		goto unlock;
	}
	/* numbers were given before, by threads that may have passed each other */
	list_for_each_entry(other, &devices, link)
		if (other->id > b->id) {
			before = &other->link;
			break;
		}
	kref_get(&b->ref);
	list_add_tail_rcu(&b->link, before);
unlock:
	mutex_unlock(&devices_mutex);
	if (!ret)
		queue_work(backend_wq, &control_work);
	return ret;
}

/* Ask the user to let go of it, or tell it that it has to.  0, -EBUSY, -ETIME. */
static int make_user_leave(struct backend *b, bool force)
{
	u32 how = force ? SHIMOS_VIRTIO_GONE : SHIMOS_VIRTIO_ASK;

	if (send(b, SHIMOS_VIRTIO_REMOVE, 0, how, NULL, 0))
		return 0;	/* it runs no more, or has unloaded its transport */
	/* answered, or ended meanwhile */
	if (!wait_event_timeout(b->changed, READ_ONCE(b->leave_answer) <= 0 ||
				!READ_ONCE(b->told), ANSWER_TIMEOUT))
		return -ETIME;
	return READ_ONCE(b->told) ? READ_ONCE(b->leave_answer) : 0;
}

static void stay(struct backend *b)
{
	spin_lock_irq(&b->lock);
	b->life = b->told ? b->before : SHIMOS_DEV_WAITING;
	spin_unlock_irq(&b->lock);
	wake(b);		/* for what it ignored while leaving */
	queue_work(backend_wq, &control_work);
}

int backend_remove(struct backend *b, bool force, char *text, size_t len)
{
	int ret;

	if (!begin_leaving(b))
		return backend_refuse(text, len, -EALREADY, "%s is being removed already",
				      b->name);
	if (force) {
		mutex_lock(&b->mutex);
		stop(b);
		mutex_unlock(&b->mutex);
	}
	ret = READ_ONCE(b->told) ? make_user_leave(b, force) : 0;
	if (ret && !force) {
		stay(b);
		return ret == -EBUSY ?
		       backend_refuse(text, len, ret,
				      "%s is in use in %s (mounted there, or open): let go of it there first, or use force, which makes its users see errors",
				      b->name, b->user_name) :
		       backend_refuse(text, len, ret,
				      "%s does not answer: use force to take %s away from it",
				      b->user_name, b->name);
	}
	if (ret)
		pr_warn("%s has not let go of %s, which is gone\n", b->user_name, b->name);
	mutex_lock(&b->mutex);
	finish(b);
	mutex_unlock(&b->mutex);
	return 0;
}

int backend_refuse(char *text, size_t len, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vscnprintf(text, len, format, args);
	va_end(args);
	return err;
}

/* ---- the module ---- */

static void close_kicks(unsigned int bells)
{
	while (bells--)
		ikc_queue_close(SHIMOS_VIRTIO_KICK + bells);
}

int backend_core_init(void)
{
	unsigned long bell;
	int ret;

	backend_wq = alloc_workqueue("shimos_devices", WQ_UNBOUND, 0);
	if (!backend_wq)
		return -ENOMEM;
	for (bell = 0; bell < SHIMOS_VIRTIO_BELLS; bell++) {
		ret = ikc_queue_open(SHIMOS_VIRTIO_KICK + bell, 0, &kick_ops, (void *)bell);
		if (ret)
			goto close;
	}
	ret = ikc_queue_open(SHIMOS_VIRTIO_OWNER, PACKETS, &control_ops, NULL);
	if (!ret)
		return 0;
close:
	close_kicks(bell);
	destroy_workqueue(backend_wq);
	return ret;
}

void backend_core_exit(void)
{
	char text[SHIMOS_DEV_ERROR_LEN];
	struct backend *b;

	while ((b = backend_next(0))) {
		backend_remove(b, true, text, sizeof(text));
		flush_work(&b->work);	/* who was quicker */
		backend_put(b);
	}
	ikc_queue_close(SHIMOS_VIRTIO_OWNER);
	close_kicks(SHIMOS_VIRTIO_BELLS);
	destroy_workqueue(backend_wq);
	user_memory_exit();
}
