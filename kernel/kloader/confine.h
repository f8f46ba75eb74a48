/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a given device can reach: its partition's memory and nothing else, where the machine
 * has an IOMMU.  Calls go down: passthrough.c; confine.c; stray.c.
 */
#ifndef _KLOADER_CONFINE_H
#define _KLOADER_CONFINE_H

#include <linux/types.h>
#include <linux/workqueue.h>

struct complaint;
struct iommu_domain;
struct iommu_group;
struct partition;
struct passthrough;
struct pci_dev;
struct shimos_range;

/**
 * struct confinement - what the IOMMU knows of given devices that it cannot tell apart
 * @link: in p->confinements; p->mutex
 * @group: the devices
 * @domain: theirs: addresses are physical ones, and only their partition's are there
 * @users: how many of them are given; p->mutex
 * @mapped: the partition's memory is there; p->mutex
 */
struct confinement {
	struct list_head link;
	struct iommu_group *group;
	struct iommu_domain *domain;
	unsigned int users;
	bool mapped;
};

/**
 * struct stray - a device that may go astray
 * @link: in those that are watched; stray.c's lock
 * @requester: bus and function of the device
 * @count: how often it was seen to be refused; it may have been oftener
 * @addr: what it wanted to reach the last time
 * @stop: stops the device
 */
struct stray {
	struct list_head link;
	u16 requester;
	atomic64_t count;
	u64 addr;
	struct work_struct stop;
};

/* confine.c */
int confine_check(struct pci_dev *pdev, bool unsafe, struct complaint *c);
int confine_prepare(struct partition *p, struct complaint *c);
void confine_end(struct passthrough *d);
int confine_add(struct partition *p, const struct shimos_range *range, struct complaint *c);
void confine_remove(struct partition *p, const struct shimos_range *range);

/* stray.c */
void stray_watch(struct stray *stray);
void stray_forget(struct stray *stray);
void stray_seen(u16 requester, u64 addr);
void stray_exit(void);

#endif
