// SPDX-License-Identifier: GPL-2.0
/*
 * Which devices this kernel accepts.  Whoever describes one is another kernel, and a
 * driver of this kernel will believe what the device says: only the kinds that owners
 * share are accepted, no more than an owner may share, and only from the
 * kernels that the parameter `accept` names.
 */
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/string.h>
#include <linux/virtio_ids.h>

#include "transport.h"

static char accept[256] = "*";
module_param_string(accept, accept, sizeof(accept), 0644);
MODULE_PARM_DESC(accept,
		 "whose devices are accepted: names of kernels, each alone or as NAME:disk, NAME:net, NAME:vsock or NAME:fs, separated by commas; * stands for any kernel (default)");

/* @rule is KERNEL or KERNEL:KIND. */
static bool accept_rule_matches(char *rule, const char *name, const char *kind)
{
	const char *kernel = strsep(&rule, ":");

	return (!strcmp(kernel, "*") || !strcmp(kernel, name)) &&
	       (!rule || !strcmp(rule, kind));
}

static bool accept_is_allowed(const char *name, const char *kind)
{
	char rules[sizeof(accept)], *rest = rules, *rule;

	kernel_param_lock(THIS_MODULE);
	strscpy(rules, accept, sizeof(rules));
	kernel_param_unlock(THIS_MODULE);
	while ((rule = strsep(&rest, ",")))
		if (accept_rule_matches(strim(rule), name, kind))
			return true;
	return false;
}

/* NULL: a type that is not accepted from that kernel. */
static const char *accept_kind(u32 type, u32 owner)
{
	/* programs serve devices on the host only */
	if ((type == VIRTIO_ID_VSOCK || type == VIRTIO_ID_FS) && owner)
		return NULL;
	switch (type) {
	case VIRTIO_ID_NET:
		return "net";
	case VIRTIO_ID_BLOCK:
		return "disk";
	case VIRTIO_ID_VSOCK:
		return "vsock";
	case VIRTIO_ID_FS:
		return "fs";
	default:
		return NULL;
	}
}

static bool accept_shape(const struct shimos_virtio_device *desc)
{
	return desc->queues && desc->queues <= SHIMOS_VIRTIO_QUEUES &&
	       is_power_of_2(desc->ring) && desc->ring <= SHIMOS_VIRTIO_RING &&
	       desc->config_len <= SHIMOS_VIRTIO_CONFIG;
}

int accept_version(const struct shimos_virtio_device *desc, u32 owner)
{
	char name[IKC_NAME_LEN];

	if (desc->version == SHIMOS_VIRTIO_VERSION && desc->size == sizeof(*desc))
		return accept_shape(desc) ? 0 : -EINVAL;
	ikc_kernel_name(owner, name);
	pr_err_ratelimited("a device of '%s' is described in version %u with %u bytes, this transport knows version %u with %zu: install the same release on both sides\n",
			   name, desc->version, desc->size, SHIMOS_VIRTIO_VERSION,
			   sizeof(*desc));
	return -EPROTO;
}

int accept_device(const struct shimos_virtio_device *desc, u32 owner, unsigned int others)
{
	const char *kind = accept_kind(desc->type, owner);
	char name[IKC_NAME_LEN];
	int ret = 0;

	ikc_kernel_name(owner, name);
	if (!kind)
		ret = -EINVAL;
	else if (!accept_is_allowed(name, kind))
		ret = -EPERM;
	else if (others >= SHIMOS_VIRTIO_DEVICES)
		ret = -ENOSPC;
	if (ret)
		pr_warn_ratelimited("a device of '%s', virtio type %u, is refused: %s\n", name,
				    desc->type,
				    ret == -EINVAL ? "no such type is accepted from it" :
				    ret == -EPERM ? "the parameter 'accept' does not allow it" :
				    "that kernel has shared as many as it may");
	return ret;
}
