// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/class/shimos/<name>/: what scripts and udev rules want to know.  Changes
 * of state send uevents and wake pollers of `state`.
 */
#include <linux/sysfs.h>
#include <shimos/compat.h>

#include "kloader.h"
#include "passthrough.h"

static struct class *sysfs_class;

#define ATTRIBUTE(name, format, ...)						\
static ssize_t name##_show(struct device *dev, struct device_attribute *attr,	\
			   char *buf)						\
{										\
	struct partition *p = dev_get_drvdata(dev);				\
										\
	return sysfs_emit(buf, format "\n", __VA_ARGS__);			\
}										\
static DEVICE_ATTR_RO(name)

ATTRIBUTE(id, "%u", p->id);
ATTRIBUTE(state, "%s", state_name(READ_ONCE(p->state)));
ATTRIBUTE(cause, "%s", state_cause_name(READ_ONCE(p->cause)));
ATTRIBUTE(memory, "%llu", p->memory);
ATTRIBUTE(starts, "%u", READ_ONCE(p->starts));

static ssize_t cpus_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct partition *p = dev_get_drvdata(dev);
	ssize_t used = 0;
	u32 i;

	for (i = 0; i < p->cpu_count; i++)
		used += sysfs_emit_at(buf, used, "%s%u", i ? "," : "", p->cpus[i]);
	return used + sysfs_emit_at(buf, used, "\n");
}
static DEVICE_ATTR_RO(cpus);

/* The PCI devices that it has, one a line: whether they are confined, how often they went astray. */
static ssize_t pci_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct partition *p = dev_get_drvdata(dev);
	struct passthrough *d;
	ssize_t used = 0;

	mutex_lock(&p->mutex);
	list_for_each_entry(d, &p->passthrough, link)
		used += sysfs_emit_at(buf, used, "%s %s %lld\n", pci_name(d->pdev),
				      d->unsafe ? "unsafe" : "confined",
				      (s64)atomic64_read(&d->stray.count));
	mutex_unlock(&p->mutex);
	return used;
}
static DEVICE_ATTR_RO(pci);

static struct attribute *sysfs_attrs[] = {
	&dev_attr_id.attr,
	&dev_attr_state.attr,
	&dev_attr_cause.attr,
	&dev_attr_memory.attr,
	&dev_attr_starts.attr,
	&dev_attr_cpus.attr,
	&dev_attr_pci.attr,
	NULL,
};
ATTRIBUTE_GROUPS(sysfs);

/**
 * sysfs_enter() - show a partition in sysfs
 * @p: in the table
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int sysfs_enter(struct partition *p)
{
	struct device *device;

	device = device_create_with_groups(sysfs_class, NULL, 0, p, sysfs_groups,
					   "%s", p->name);
	if (IS_ERR(device))
		return PTR_ERR(device);
	p->device = device;
	return 0;
}

/**
 * sysfs_leave() - show it no more
 * @p: of sysfs_enter()
 *
 * Context: may sleep, until nobody reads there.
 */
void sysfs_leave(struct partition *p)
{
	device_unregister(p->device);
	p->device = NULL;
}

/**
 * sysfs_init() - make the class
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int sysfs_init(void)
{
	sysfs_class = compat_class_create("shimos");
	return PTR_ERR_OR_ZERO(sysfs_class);
}

/**
 * sysfs_exit() - take it away
 *
 * Context: may sleep; there is no partition.
 */
void sysfs_exit(void)
{
	class_destroy(sysfs_class);
}
