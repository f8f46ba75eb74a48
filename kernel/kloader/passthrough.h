/* SPDX-License-Identifier: GPL-2.0 */
/*
 * PCIe devices that belong to a partition whole.  KLoader binds them to a driver
 * of its own, which does nothing: no other driver of the host can take them.
 */
#ifndef _KLOADER_PASSTHROUGH_H
#define _KLOADER_PASSTHROUGH_H

#include <linux/pci.h>

#include "kloader.h"

/* One function, from the moment it is given until it is given back. */
struct passthrough {
	struct list_head link;		/* p->passthrough, p->mutex */
	struct list_head all;		/* given, passthrough_mutex */
	struct partition *p;
	struct pci_dev *pdev;
	struct pci_saved_state *state;	/* of its configuration space, as it came */
	char driver[32];		/* the host's that had it; "": none */
	bool overridden;		/* by the user, to that driver */
	bool has_irq;			/* its line is watched */
	bool lost;			/* unplugged, or the host let it go */
};

/*
 * @lost is called when a device of a partition was unplugged, with the device's lock
 * held; it may sleep.
 */
int passthrough_init(void (*lost)(struct partition *p));
void passthrough_exit(void);
int passthrough_give(struct partition *p, const struct shimos_pci *arg,
		     struct complaint *c);
int passthrough_prepare(struct partition *p, struct complaint *c);
bool passthrough_quiesce(struct partition *p);
void passthrough_release(struct partition *p);

/* A bus is described once, with the first function that is on it.  p->mutex. */
static inline bool passthrough_first_of_bus(const struct passthrough *d)
{
	const struct passthrough *other;

	list_for_each_entry(other, &d->p->passthrough, link)
		if (other->pdev->bus == d->pdev->bus)
			return other == d;
	return false;
}

/* passthrough_check.c */
int passthrough_check_device(struct pci_dev *pdev, struct complaint *c);
int passthrough_check_buses(struct partition *p, struct complaint *c);

#endif
