/* SPDX-License-Identifier: GPL-2.0 */
/*
 * PCIe devices that belong to a partition whole.  KLoader binds them to a driver
 * of its own, which does nothing: no other driver of the host can take them.
 */
#ifndef _KLOADER_PASSTHROUGH_H
#define _KLOADER_PASSTHROUGH_H

#include <linux/pci.h>

#include "confine.h"
#include "kloader.h"

/**
 * struct passthrough - one PCI function, from the moment it is given until it is given back
 * @link: in p->passthrough; p->mutex
 * @all: in those that are given; passthrough_mutex
 * @p: whose it is
 * @pdev: the function
 * @state: of its configuration space, as it came
 * @driver: the host's that had it; "": none
 * @overridden: by the user, to that driver
 * @unsafe: it is not confined, as its user wants it
 * @has_irq: its line is watched
 * @has_messages: the host has made interrupts for it
 * @lost: unplugged, or the host let it go
 * @interrupts: those that it can have, where the host remaps interrupts
 * @interrupt_count: how many; 0: it names CPUs and vectors itself
 * @confinement: what the IOMMU knows of it, since its partition has started; NULL: nothing
 * @stray: what is seen of it where it goes astray
 */
struct passthrough {
	struct list_head link;
	struct list_head all;
	struct partition *p;
	struct pci_dev *pdev;
	struct pci_saved_state *state;
	char driver[32];
	bool overridden;
	bool unsafe;
	bool has_irq;
	bool has_messages;
	bool lost;
	struct shimos_interrupt interrupts[SHIMOS_DEVICE_INTERRUPTS];
	unsigned int interrupt_count;
	struct confinement *confinement;
	struct stray stray;
};

int passthrough_init(void (*lost)(struct partition *p));
void passthrough_exit(void);
int passthrough_give(struct partition *p, const struct shimos_pci *arg,
		     struct complaint *c);
int passthrough_prepare(struct partition *p, struct complaint *c);
bool passthrough_quiesce(struct partition *p);
void passthrough_release(struct partition *p);

/**
 * passthrough_first_of_bus() - is it the first of its partition's on its bus?
 * @d: given
 *
 * A bus is described once, with the first function that is on it.
 *
 * Context: p->mutex is held.
 */
static inline bool passthrough_first_of_bus(const struct passthrough *d)
{
	const struct passthrough *other;

	list_for_each_entry(other, &d->p->passthrough, link)
		if (other->pdev->bus == d->pdev->bus)
			return other == d;
	return false;
}

/* passthrough_check.c */
int passthrough_check_device(struct pci_dev *pdev, bool unsafe, struct complaint *c);
int passthrough_check_buses(struct partition *p, struct complaint *c);

#endif
