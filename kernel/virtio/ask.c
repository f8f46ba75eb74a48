// SPDX-License-Identifier: GPL-2.0
/* What this kernel asks the owners of its devices, and their answers. */
#include <linux/module.h>

#include "transport.h"

static unsigned int answer_seconds = 20;
module_param(answer_seconds, uint, 0644);
MODULE_PARM_DESC(answer_seconds,
		 "how long an owner may take to start a device, or to stop it before the log says so");

int transport_send(u32 owner, u32 id, enum shimos_virtio_cmd cmd, u32 number, u32 value,
		   void *block, u32 size)
{
	struct ikc_packet pkt = { .cmd = cmd, .param = { id, number, value } };
	int ret;

	if (block) {
		pkt.flags = IKC_DATA_SHARED;
		pkt.data = ikc_offset(block);
		pkt.size = size;
	}
	ret = ikc_write(&pkt, owner, SHIMOS_VIRTIO_OWNER);
	if (!ret)
		ikc_notify(owner, SHIMOS_VIRTIO_OWNER);
	else if (block)
		ikc_free(block);
	return ret;
}

/* Has request @number been answered, or a later one?  Answers come in order. */
static bool transport_is_answered(const struct shimos_device *d, u32 number)
{
	/* pairs with the release in transport_take_answer() */
	return (s32)(smp_load_acquire(&d->answered) - number) >= 0;
}

static long transport_answer_timeout(void)
{
	return max(READ_ONCE(answer_seconds), 1U) * HZ;
}

int transport_ask_start(struct shimos_device *d, struct shimos_virtio_start *msg)
{
	u32 number = ++d->asked;	/* drivers take one step after the other */
	int ret;

	ret = transport_send(d->owner, d->id, SHIMOS_VIRTIO_START, number, 0, msg, sizeof(*msg));
	if (ret)
		return ret;
	if (!wait_event_timeout(d->changed, transport_is_answered(d, number) || READ_ONCE(d->dead),
				transport_answer_timeout()))
		return -ETIME;
	return transport_is_answered(d, number) ? d->answer : -EHOSTDOWN;
}

void transport_ask_reset(struct shimos_device *d)
{
	u32 first = d->asked + 1;
	int ret;

	for (;;) {
		/* again each time: request and answer may find a full queue */
		ret = transport_send(d->owner, d->id, SHIMOS_VIRTIO_RESET, ++d->asked, 0, NULL, 0);
		/* no back end is loaded there, so nobody serves the device */
		if (ret == -ENOTCONN && !READ_ONCE(d->stuck))
			return;
		if (wait_event_timeout(d->changed,
				       transport_is_answered(d, first) || READ_ONCE(d->dead),
				       transport_answer_timeout()))
			return;
		dev_warn(&d->vdev.dev,
			 "the owner of %s has not stopped it: waiting, for it may still write to this kernel's memory\n",
			 d->desc.name);
	}
}

void transport_take_answer(struct shimos_device *d, const struct ikc_packet *pkt)
{
	d->answer = -(int)min_t(u32, pkt->param[2], MAX_ERRNO);
	/* pairs with the acquire in transport_is_answered() */
	smp_store_release(&d->answered, pkt->param[1]);
	wake_up_all(&d->changed);
}
