// SPDX-License-Identifier: GPL-2.0
/*
 * An owner of shared devices gone bad: loaded in a partition in place of
 * shimos_backend, it offers the host what nobody asked for.  /proc/hostile_owner
 * takes commands and gives results as "name value" lines:
 *
 *	push TYPE COUNT		offer so many devices of a virtio type
 *	hold 0|1		whether RESET stays unanswered; 0 answers what has come
 */
#include <linux/module.h>
#include <linux/virtio_blk.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ids.h>
#include <linux/virtio_net.h>
#include <linux/workqueue.h>
#include <shimos/ikc.h>
#include <uapi/shimos_virtio.h>

#include "command.h"

#define USER	0		/* the host */

static u32 last_id, offered, refused, reason, starts, resets;
static bool hold;
static struct ikc_packet held;	/* the last RESET; cmd 0: none */

static void answer(const struct ikc_packet *request)
{
	struct ikc_packet pkt = {
		.cmd = SHIMOS_VIRTIO_ANSWER,
		.param = { request->param[0], request->param[1], 0 },
	};

	if (!ikc_write(&pkt, USER, SHIMOS_VIRTIO_USER))
		ikc_notify(USER, SHIMOS_VIRTIO_USER);
}

static void take(const struct ikc_packet *pkt)
{
	switch (pkt->cmd) {
	case SHIMOS_VIRTIO_START:
		starts++;
		answer(pkt);
		break;
	case SHIMOS_VIRTIO_RESET:
		resets++;
		if (hold)
			held = *pkt;
		else
			answer(pkt);
		break;
	case SHIMOS_VIRTIO_REMOVED:
		reason = pkt->param[2];
		refused += !!reason;
		break;
	}
	if (pkt->flags == IKC_DATA_SHARED)
		ikc_free(ikc_pointer(pkt->data));
}

static void hear(struct work_struct *work)
{
	struct ikc_packet pkt;

	do {
		while (!ikc_read(&pkt, SHIMOS_VIRTIO_OWNER))
			take(&pkt);
	} while (!ikc_queue_arm(SHIMOS_VIRTIO_OWNER));
}

static DECLARE_WORK(hear_work, hear);

static void rang(void *context, unsigned int kernel)
{
	schedule_work(&hear_work);
}

static const struct ikc_queue_ops ops = { .notify = rang };

static void describe(struct shimos_virtio_device *device, u32 type)
{
	*device = (struct shimos_virtio_device){
		.version = SHIMOS_VIRTIO_VERSION,
		.size = sizeof(*device),
		.features = BIT_ULL(VIRTIO_F_VERSION_1),
		.type = type,
		.queues = 2,
		.ring = 256,
		.config_len = 64,
		.name = "unwanted",
	};
	if (type == VIRTIO_ID_NET) {
		device->features |= BIT_ULL(VIRTIO_NET_F_MAC);
		device->config[0] = 0x02;
		device->config[5] = last_id;
	}
}

static int push(u32 type, unsigned int count)
{
	struct ikc_packet pkt = { .cmd = SHIMOS_VIRTIO_ADD, .flags = IKC_DATA_SHARED };
	struct shimos_virtio_device *device;
	int ret = 0;

	while (count && (!ret || ret == -EAGAIN)) {
		device = ikc_alloc(sizeof(*device));
		if (!device)
			return -ENOMEM;
		describe(device, type);
		pkt.param[0] = last_id + 1;
		pkt.data = ikc_offset(device);
		pkt.size = sizeof(*device);
		ret = ikc_write(&pkt, USER, SHIMOS_VIRTIO_USER);
		if (ret) {
			ikc_free(device);
			cond_resched();
		} else {
			last_id++;
			offered++;
			count--;
		}
		ikc_notify(USER, SHIMOS_VIRTIO_USER);
	}
	return ret;
}

static int show(struct seq_file *file, void *unused)
{
	seq_printf(file, "offered %u\nrefused %u\nreason %u\nstarts %u\nresets %u\n", offered,
		   refused, reason, starts, resets);
	return 0;
}

static int run(const char *line)
{
	unsigned int a, b;

	if (sscanf(line, "push %u %u", &a, &b) == 2)
		return push(a, b);
	if (sscanf(line, "hold %u", &a) != 1)
		return -EINVAL;
	hold = a;
	if (!hold && held.cmd) {
		answer(&held);
		held.cmd = 0;
	}
	return 0;
}

static int __init hostile_init(void)
{
	int ret = ikc_queue_open(SHIMOS_VIRTIO_OWNER, 64, &ops, NULL);

	if (!ret)
		proc_create("hostile_owner", 0600, NULL, &command_proc_ops);
	return ret;
}

static void __exit hostile_exit(void)
{
	remove_proc_entry("hostile_owner", NULL);
	ikc_queue_close(SHIMOS_VIRTIO_OWNER);
	cancel_work_sync(&hear_work);
}

module_init(hostile_init);
module_exit(hostile_exit);
MODULE_DESCRIPTION("SHIMOS tests: an owner of shared devices that lies");
MODULE_LICENSE("GPL");
