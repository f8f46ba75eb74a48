// SPDX-License-Identifier: GPL-2.0
/* What a user is told of its devices. */
#include <linux/string.h>

#include "backend.h"
#include "core.h"

int backend_send(struct backend *b, enum shimos_virtio_cmd cmd, u32 answered, u32 value,
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

static int backend_send_description(struct backend *b, enum shimos_virtio_cmd cmd)
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
	return backend_send(b, cmd, 0, 0, device, sizeof(*device));
}

void backend_try_to_announce(struct backend *b)
{
	spin_lock_irq(&b->lock);
	/* no error is final: IKC tells when it is worth another try */
	if (b->life == SHIMOS_DEV_WAITING && !backend_send_description(b, SHIMOS_VIRTIO_ADD)) {
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
		backend_send_description(b, SHIMOS_VIRTIO_CHANGE);
	spin_unlock_irq(&b->lock);
}
