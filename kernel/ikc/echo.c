// SPDX-License-Identifier: GPL-2.0
/*
 * The echo service: answers what other kernels' programs send to
 * IKC_ECHO_CHANNEL, so that `shimos ping` and `shimos perf` find somebody in every
 * kernel.
 *
 * It polls as long as packets keep coming and a little longer, then asks for the
 * doorbell and sleeps (SHIMOS 2009, section 2.3).
 */
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "local.h"

#define ECHO_QUEUE	(IKC_FIRST_CHANNEL + IKC_ECHO_CHANNEL)
#define ECHO_SLOT	1024
#define ECHO_SLOTS	((IKC_ALLOC_MAX - IKC_RING_HEADER) / ECHO_SLOT)

static unsigned int poll_us = 20;
module_param(poll_us, uint, 0644);
MODULE_PARM_DESC(poll_us, "microseconds that the echo service polls before it sleeps");

struct echo {
	struct ikc_echo_message message;
	u8 rest[ECHO_SLOT - IKC_SLOT_HEADER - sizeof(struct ikc_echo_message)];
};

/* What a peer has sent to the sink; the thread's. */
static struct {
	u64 messages, bytes;
} counted[IKC_MAX_KERNELS];

static struct task_struct *echo_thread;
static DECLARE_WAIT_QUEUE_HEAD(echo_wait);
static bool echo_rang;

static void notify(void *context, unsigned int kernel)
{
	WRITE_ONCE(echo_rang, true);
	wake_up(&echo_wait);
}

static const struct ikc_queue_ops echo_ops = {
	.notify = notify,
};

/* Whoever does not read its answers loses them. */
static void answer(unsigned int sender, unsigned int channel, const void *data, u32 len)
{
	unsigned int queue = IKC_FIRST_CHANNEL + channel;

	if (channel < IKC_ECHO_CHANNEL && !ikc_send(sender, queue, data, len))
		ikc_notify(sender, queue);
}

static void handle(struct echo *echo, u32 len, unsigned int sender)
{
	struct ikc_echo_message *message = &echo->message;

	if (len < sizeof(*message))
		return;
	switch (message->op) {
	case IKC_ECHO:
		answer(sender, message->channel, echo, len);
		break;
	case IKC_SINK:
		counted[sender].messages++;
		counted[sender].bytes += len;
		break;
	case IKC_COUNT:
		message->cookie = counted[sender].messages;
		message->bytes = counted[sender].bytes;
		counted[sender].messages = counted[sender].bytes = 0;
		answer(sender, message->channel, echo, sizeof(*message));
		break;
	}
}

static int echo_main(void *data)
{
	struct echo *echo = data;
	unsigned int sender;
	u64 until = 0;
	u32 len;

	while (!kthread_should_stop()) {
		cond_resched();
		WRITE_ONCE(echo_rang, false);
		if (!ikc_receive(ECHO_QUEUE, echo, sizeof(*echo), &len, &sender)) {
			handle(echo, len, sender);
			until = 0;
			continue;
		}
		if (!until)
			until = ktime_get_ns() + READ_ONCE(poll_us) * NSEC_PER_USEC;
		if (ktime_get_ns() < until) {
			cpu_relax();
			continue;
		}
		if (ikc_queue_arm(ECHO_QUEUE))
			wait_event_idle(echo_wait, READ_ONCE(echo_rang) ||
					kthread_should_stop());
	}
	kfree(echo);
	return 0;
}

int ikc_echo_init(void)
{
	struct echo *echo = kmalloc(sizeof(*echo), GFP_KERNEL);
	int ret;

	if (!echo)
		return -ENOMEM;
	ret = ikc_queue_open_any(ECHO_QUEUE, ECHO_SLOTS, ECHO_SLOT, &echo_ops, NULL);
	if (ret) {
		kfree(echo);
		return ret;
	}
	echo_thread = kthread_run(echo_main, echo, "ikc-echo");
	if (IS_ERR(echo_thread)) {
		ret = PTR_ERR(echo_thread);
		echo_thread = NULL;
		ikc_queue_close_any(ECHO_QUEUE);
		kfree(echo);
	}
	return ret;
}

void ikc_echo_exit(void)
{
	if (!echo_thread)
		return;
	kthread_stop(echo_thread);
	echo_thread = NULL;
	ikc_queue_close_any(ECHO_QUEUE);
}
