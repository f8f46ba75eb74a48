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
} ikc_echo_counted[IKC_MAX_KERNELS];

static struct task_struct *ikc_echo_thread;
static DECLARE_WAIT_QUEUE_HEAD(ikc_echo_wait);
static bool ikc_echo_rang;

static void ikc_echo_notify(void *context, unsigned int kernel)
{
	WRITE_ONCE(ikc_echo_rang, true);
	wake_up(&ikc_echo_wait);
}

static const struct ikc_queue_ops ikc_echo_ops = {
	.notify = ikc_echo_notify,
};

/* Whoever does not read its answers loses them. */
static void ikc_echo_answer(unsigned int sender, unsigned int channel, const void *data, u32 len)
{
	unsigned int queue = IKC_FIRST_CHANNEL + channel;

	if (channel < IKC_ECHO_CHANNEL && !ikc_send(sender, queue, data, len))
		ikc_notify(sender, queue);
}

static void ikc_echo_handle(struct echo *echo, u32 len, unsigned int sender)
{
	struct ikc_echo_message *message = &echo->message;

	if (len < sizeof(*message))
		return;
	switch (message->op) {
	case IKC_ECHO:
		ikc_echo_answer(sender, message->channel, echo, len);
		break;
	case IKC_SINK:
		ikc_echo_counted[sender].messages++;
		ikc_echo_counted[sender].bytes += len;
		break;
	case IKC_COUNT:
		message->cookie = ikc_echo_counted[sender].messages;
		message->bytes = ikc_echo_counted[sender].bytes;
		ikc_echo_counted[sender].messages = ikc_echo_counted[sender].bytes = 0;
		ikc_echo_answer(sender, message->channel, echo, sizeof(*message));
		break;
	}
}

static int ikc_echo_main(void *data)
{
	struct echo *echo = data;
	unsigned int sender;
	u64 until = 0;
	u32 len;

	while (!kthread_should_stop()) {
		cond_resched();
		WRITE_ONCE(ikc_echo_rang, false);
		if (!ikc_receive(ECHO_QUEUE, echo, sizeof(*echo), &len, &sender)) {
			ikc_echo_handle(echo, len, sender);
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
			wait_event_idle(ikc_echo_wait, READ_ONCE(ikc_echo_rang) ||
					kthread_should_stop());
	}
	kfree(echo);
	return 0;
}

/**
 * ikc_echo_init() - answer pings
 *
 * Context: may sleep; this kernel takes part.
 * Return: 0 or an error; then nothing is left.
 */
int ikc_echo_init(void)
{
	struct echo *echo = kmalloc(sizeof(*echo), GFP_KERNEL);
	int ret;

	if (!echo)
		return -ENOMEM;
	ret = ikc_queue_open_any(ECHO_QUEUE, ECHO_SLOTS, ECHO_SLOT, &ikc_echo_ops, NULL);
	if (ret) {
		kfree(echo);
		return ret;
	}
	ikc_echo_thread = kthread_run(ikc_echo_main, echo, "ikc-echo");
	if (IS_ERR(ikc_echo_thread)) {
		ret = PTR_ERR(ikc_echo_thread);
		ikc_echo_thread = NULL;
		ikc_queue_close_any(ECHO_QUEUE);
		kfree(echo);
	}
	return ret;
}

/**
 * ikc_echo_exit() - answer no more
 *
 * Context: may sleep.
 */
void ikc_echo_exit(void)
{
	if (!ikc_echo_thread)
		return;
	kthread_stop(ikc_echo_thread);
	ikc_echo_thread = NULL;
	ikc_queue_close_any(ECHO_QUEUE);
}
