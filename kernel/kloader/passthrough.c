// SPDX-License-Identifier: GPL-2.0
/*
 * PCIe devices that belong to a partition.
 *
 * A device is taken from its driver and bound to ours, which holds it awake and
 * keeps others off.  Whenever the partition's CPUs stop, the device is made to
 * stop, too: bus mastering goes off, what is under way is waited for, a reset
 * and the configuration it came with follow.  Only then may anybody use memory
 * to which it could have been writing.
 */
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <shimos/compat.h>

#include "arch.h"
#include "passthrough.h"

#define DRIVER_NAME	"shimos-pci"

/* How long somebody may hold a device's lock while we want to reset it. */
#define RESET_TRIES	200
#define RESET_PAUSE_MS	10
/* From D3hot to D0, PCI Power Management 1.2, section 5.6.1. */
#define D3HOT_MS	10

/*
 * One gift at a time; guards what follows.  Taken after p->mutex.  Whoever
 * unplugs a given device holds the device's lock and waits for p->mutex: wait for
 * a device's lock under this one only as long as nobody has the device.
 */
static DEFINE_MUTEX(passthrough_mutex);
static LIST_HEAD(passthrough_given);
/* Who wants to know that a partition has lost a device. */
static void (*passthrough_lost)(struct partition *p);
static struct pci_dev *passthrough_wanted;	/* the one device that may be bound now */

/* D3 takes BARs and bus mastering with it; the host does not know of it. */
static void passthrough_wake(struct pci_dev *pdev)
{
	u16 control;

	if (!pdev->pm_cap)
		return;
	pci_read_config_word(pdev, pdev->pm_cap + PCI_PM_CTRL, &control);
	if (!(control & PCI_PM_CTRL_STATE_MASK))
		return;
	control &= ~PCI_PM_CTRL_STATE_MASK;
	pci_write_config_word(pdev, pdev->pm_cap + PCI_PM_CTRL, control);
	msleep(max_t(unsigned int, pdev->d3hot_delay, D3HOT_MS));
}

/*
 * Whoever unplugs the device holds its lock and may be waiting for us, who hold
 * the partition's: never wait for it.
 */
static int passthrough_reset(struct passthrough *d)
{
	int ret, i;

	for (i = 0; i < RESET_TRIES; i++) {
		if (READ_ONCE(d->lost))
			return pcie_reset_flr(d->pdev, PCI_RESET_DO_RESET);
		ret = pci_try_reset_function(d->pdev);
		if (ret != -EAGAIN)
			return ret;
		msleep(RESET_PAUSE_MS);
	}
	return -EBUSY;
}

/* Returns whether it stands still: nothing of what it did may still be under way. */
static bool passthrough_quiesce_one(struct passthrough *d)
{
	struct pci_dev *pdev = d->pdev;
	bool quiet;
	int ret;

	passthrough_wake(pdev);
	pci_clear_master(pdev);
	quiet = READ_ONCE(d->lost) || pci_wait_for_pending_transaction(pdev);
	if (!quiet)
		pci_warn(pdev, "transactions of '%s' are still pending\n", d->p->name);
	ret = passthrough_reset(d);
	if (ret)
		pci_notice(pdev, "was not reset after its use by '%s' (error %d): its bus mastering is off\n",
			   d->p->name, ret);
	/* a device that was reset has forgotten what it was about to write */
	quiet |= !ret;
	pci_load_saved_state(pdev, d->state);
	pci_restore_state(pdev);
	return quiet;
}

/**
 * passthrough_quiesce() - let no device of a partition go on
 * @p: a partition whose CPUs are parked; p->mutex is held
 *
 * Context: may sleep for seconds.
 * Return: false if a device may still write to memory.
 */
bool passthrough_quiesce(struct partition *p)
{
	struct passthrough *d;
	bool quiet = true;

	list_for_each_entry(d, &p->passthrough, link)
		quiet &= passthrough_quiesce_one(d);
	return quiet;
}

/**
 * passthrough_prepare() - about to start: is all there still that was given?
 * @p: whose
 * @c: what is not
 *
 * Context: may sleep; p->mutex is held.
 * Return: 0; -ENODEV: one was unplugged; -EBUSY: it would see another one; or why the IOMMU does
 * not let one reach the partition's memory.
 */
int passthrough_prepare(struct partition *p, struct complaint *c)
{
	struct passthrough *d;

	list_for_each_entry(d, &p->passthrough, link)
		if (READ_ONCE(d->lost))
			return shimos_refuse(c, -ENODEV,
					     "the device %s of '%s' was unplugged: remove the partition and run it anew",
					     pci_name(d->pdev), p->name);
	return passthrough_check_buses(p, c) ?: confine_prepare(p, c);
}

/*
 * A partition's kernel that lets its device use the interrupt line disturbs all
 * that share the line with it: silence it.
 */
static irqreturn_t passthrough_interrupt(int irq, void *data)
{
	struct passthrough *d = data;

	return pci_check_and_mask_intx(d->pdev) ? IRQ_HANDLED : IRQ_NONE;
}

static void passthrough_watch_line(struct passthrough *d)
{
	struct pci_dev *pdev = d->pdev;

	if (!pdev->pin || !pdev->irq || !pci_intx_mask_supported(pdev))
		return;
	d->has_irq = !request_irq(pdev->irq, passthrough_interrupt, IRQF_SHARED, DRIVER_NAME, d);
	if (!d->has_irq)
		pci_notice(pdev, "nobody watches its interrupt line\n");
}

/* Also those that are not open. */
static void passthrough_close_interrupts(struct passthrough *d)
{
	kloader_arch_close_interrupts(d);
	if (d->has_irq)
		free_irq(d->pdev->irq, d);
	d->has_irq = false;
}

static int passthrough_open_interrupts(struct passthrough *d, struct complaint *c)
{
	int ret;

	passthrough_watch_line(d);
	/* second, for a message takes the line's place in the host's books */
	ret = kloader_arch_open_interrupts(d, c);
	if (ret)
		passthrough_close_interrupts(d);
	return ret;
}

static int passthrough_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	int ret;

	if (pdev != READ_ONCE(passthrough_wanted))
		return -EPERM;	/* only KLoader gives devices */
	ret = pci_enable_device_mem(pdev);
	if (ret)
		return ret;
	ret = pci_request_regions(pdev, DRIVER_NAME);
	if (ret)
		pci_disable_device(pdev);
	return ret;
}

/* Either given back, or unplugged under the partition that has it. */
static void passthrough_remove(struct pci_dev *pdev)
{
	struct passthrough *d = pci_get_drvdata(pdev);

	if (d) {
		pci_warn(pdev, "goes, and '%s' with it\n", d->p->name);
		WRITE_ONCE(d->lost, true);
		passthrough_lost(d->p);
		passthrough_close_interrupts(d);
	}
	pci_release_regions(pdev);
	pci_disable_device(pdev);
}

/* No bind and unbind in sysfs: a device goes back with its partition only. */
static struct pci_driver passthrough_driver = {
	.name		= DRIVER_NAME,
	.probe		= passthrough_probe,
	.remove		= passthrough_remove,
	.driver		= { .suppress_bind_attrs = true },
	.driver_managed_dma = true,	/* see confine.c */
};

/* Who has it now, to give it back to. */
static int passthrough_remember_driver(struct passthrough *d, struct complaint *c)
{
	struct pci_dev *pdev = d->pdev;
	int ret = 0;

	device_lock(&pdev->dev);
	d->overridden = compat_has_driver_override(pdev);
	if (pdev->dev.driver)
		strscpy(d->driver, pdev->dev.driver->name, sizeof(d->driver));
	else if (d->overridden)
		ret = shimos_refuse(c, -EBUSY,
				    "somebody keeps %s for a driver that has not come: echo > /sys/bus/pci/devices/%s/driver_override",
				    pci_name(pdev), pci_name(pdev));
	device_unlock(&pdev->dev);
	return ret;
}

/* Back to the driver that had it. */
static void passthrough_unbind(struct passthrough *d)
{
	struct pci_dev *pdev = d->pdev;

	compat_set_driver_override(pdev, d->driver);
	device_release_driver(&pdev->dev);
	if (!d->driver[0] || READ_ONCE(d->lost))
		return;
	if (device_attach(&pdev->dev) != 1)
		pci_warn(pdev, "the driver %s did not take it back\n", d->driver);
	if (!d->overridden)
		compat_set_driver_override(pdev, "");
}

static int passthrough_bind(struct passthrough *d, struct complaint *c)
{
	struct pci_dev *pdev = d->pdev;
	int ret;

	ret = passthrough_remember_driver(d, c) ?: compat_set_driver_override(pdev, DRIVER_NAME);
	if (ret)
		return ret;
	device_release_driver(&pdev->dev);
	WRITE_ONCE(passthrough_wanted, pdev);
	ret = device_attach(&pdev->dev);
	WRITE_ONCE(passthrough_wanted, NULL);
	if (ret == 1)
		return 0;
	passthrough_unbind(d);
	return shimos_refuse(c, ret < 0 ? ret : -ENODEV,
			     "%s cannot be taken from the host (error %d): see dmesg",
			     pci_name(pdev), ret);
}

static int passthrough_enter(struct passthrough *d, struct complaint *c)
{
	struct pci_dev *pdev = d->pdev;
	bool ours;

	device_lock(&pdev->dev);
	ours = pdev->dev.driver == &passthrough_driver.driver;
	if (ours)
		pci_set_drvdata(pdev, d);	/* from now on removal ends p */
	device_unlock(&pdev->dev);
	if (!ours)
		return shimos_refuse(c, -ENODEV, "%s has just been unplugged", pci_name(pdev));
	list_add_tail(&d->all, &passthrough_given);
	list_add_tail(&d->link, &d->p->passthrough);
	d->p->passthrough_count++;
	return 0;
}

static int passthrough_take(struct partition *p, struct pci_dev *pdev, bool unsafe,
			    struct complaint *c)
{
	struct passthrough *d = kzalloc(sizeof(*d), GFP_KERNEL);
	int ret;

	if (!d)
		return -ENOMEM;
	d->p = p;
	d->pdev = pdev;
	d->unsafe = unsafe;
	ret = passthrough_bind(d, c);
	if (ret)
		goto free;
	pci_clear_master(pdev);
	pci_save_state(pdev);
	d->state = pci_store_saved_state(pdev);
	if (!d->state) {
		ret = -ENOMEM;
		goto unbind;
	}
	passthrough_quiesce_one(d);	/* nothing of what the host did is left in it */
	ret = passthrough_open_interrupts(d, c);
	if (ret)
		goto unbind;
	ret = passthrough_enter(d, c);
	if (!ret)
		return 0;
	passthrough_close_interrupts(d);
unbind:
	passthrough_unbind(d);
free:
	kfree(d->state);
	kfree(d);
	return ret;
}

static int passthrough_give_locked(struct partition *p, struct pci_dev *pdev, bool unsafe,
				   struct complaint *c)
{
	const struct passthrough *other;
	int ret;

	lockdep_assert_held(&p->mutex);
	if (p->gone || p->state != SHIMOS_CREATED)
		return shimos_refuse(c, -EBUSY,
				     "'%s' is %s: devices are given before the kernel is loaded",
				     p->name, state_name(p->state));
	if (p->passthrough_count == SHIMOS_MAX_PCI)
		return shimos_refuse(c, -E2BIG, "'%s' has %u PCI functions already, the most there can be",
				     p->name, SHIMOS_MAX_PCI);
	list_for_each_entry(other, &passthrough_given, all)
		if (other->pdev == pdev)
			return shimos_refuse(c, -EBUSY, "%s belongs to partition '%s'",
					     pci_name(pdev), other->p->name);
	ret = passthrough_check_device(pdev, unsafe, c);
	return ret ?: passthrough_take(p, pdev, unsafe, c);
}

/**
 * passthrough_give() - take a device from the host for a partition
 * @p: has no kernel yet
 * @arg: which, as the user says it
 * @c: why not
 *
 * Whether its driver's users are content is for the caller to know.
 *
 * Context: may sleep for as long as that driver takes to let it go; takes p->mutex.
 * Return: 0 or an error.
 */
int passthrough_give(struct partition *p, const struct shimos_pci *arg,
		     struct complaint *c)
{
	struct pci_dev *pdev = NULL;
	int ret;

	if (arg->device < 32 && arg->function < 8 && arg->segment <= U16_MAX)
		pdev = pci_get_domain_bus_and_slot(arg->segment, arg->bus,
						   PCI_DEVFN(arg->device, arg->function));
	if (!pdev)
		return shimos_refuse(c, -ENODEV, "there is no PCI device %04x:%02x:%02x.%x",
				     arg->segment, arg->bus, arg->device, arg->function);
	mutex_lock(&p->mutex);
	mutex_lock(&passthrough_mutex);
	ret = passthrough_give_locked(p, pdev, arg->flags & SHIMOS_PCI_UNSAFE, c);
	mutex_unlock(&passthrough_mutex);
	mutex_unlock(&p->mutex);
	if (ret)
		pci_dev_put(pdev);	/* else it is kept until it goes back */
	return ret;
}

/**
 * passthrough_release() - all its devices go back
 * @p: is gone for everybody else
 *
 * Context: may sleep.
 */
void passthrough_release(struct partition *p)
{
	struct passthrough *d, *next;

	list_for_each_entry_safe(d, next, &p->passthrough, link) {
		/* its removal no longer ends a partition */
		device_lock(&d->pdev->dev);
		if (d->pdev->dev.driver == &passthrough_driver.driver)
			pci_set_drvdata(d->pdev, NULL);
		device_unlock(&d->pdev->dev);
		/* one that was unplugged may be back and somebody else's */
		if (!READ_ONCE(d->lost))
			passthrough_quiesce_one(d);
		passthrough_close_interrupts(d);
		confine_end(d);
		passthrough_unbind(d);
		mutex_lock(&passthrough_mutex);
		list_del(&d->all);
		mutex_unlock(&passthrough_mutex);
		list_del(&d->link);
		pci_dev_put(d->pdev);
		kfree(d->state);
		kfree(d);
	}
	p->passthrough_count = 0;
}

/**
 * passthrough_init() - have a driver to bind devices to
 * @lost: called when a device of a partition was unplugged, with the device's lock held; it may
 *	sleep
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int passthrough_init(void (*lost)(struct partition *p))
{
	passthrough_lost = lost;
	return pci_register_driver(&passthrough_driver);
}

/**
 * passthrough_exit() - undo passthrough_init()
 *
 * Every partition holds the module, so no device is held.
 *
 * Context: may sleep.
 */
void passthrough_exit(void)
{
	pci_unregister_driver(&passthrough_driver);
	stray_exit();
}
