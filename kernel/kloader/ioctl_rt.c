// SPDX-License-Identifier: GPL-2.0
/* The calls of uapi/shimos.h about real-time partitions, and the CPUs that they share. */
#include <shimos/door.h>

#include "ioctl.h"

static int ioctl_check_rt(const struct partition *p, struct complaint *c)
{
	if (p->kind != &kind_rt)
		return shimos_refuse(c, -EINVAL, "'%s' has CPUs of its own and shares none",
				     p->name);
	return 0;
}

static int ioctl_rt_found(struct partition *p, void *data, struct complaint *c)
{
	return ioctl_check_rt(p, c) ?: kind_rt_status(p, data, c);
}

int ioctl_rt(void *session, void *data, struct complaint *c)
{
	struct shimos_rt_status *arg = data;

	return ioctl_with(arg->id, ioctl_rt_found, arg, c);
}

static int ioctl_rt_latency_found(struct partition *p, void *data, struct complaint *c)
{
	struct shimos_rt_latency *arg = data;

	return ioctl_check_rt(p, c) ?: shimos_door_check_reserved(arg->reserved, c) ?:
	       shimos_door_check_reserved(arg->reserved2, c) ?: kind_rt_latency(p, arg, c);
}

int ioctl_rt_latency(void *session, void *data, struct complaint *c)
{
	struct shimos_rt_latency *arg = data;

	return ioctl_with(arg->id, ioctl_rt_latency_found, arg, c);
}

static int ioctl_rt_move_found(struct partition *p, void *data, struct complaint *c)
{
	const struct shimos_rt_move *arg = data;
	int ret = ioctl_check_rt(p, c) ?: kind_rt_move(p, arg->cpu, c);

	if (!ret)
		life_moved(p);
	return ret;
}

int ioctl_rt_move(void *session, void *data, struct complaint *c)
{
	struct shimos_rt_move *arg = data;

	return ioctl_check_permission(c) ?: ioctl_with(arg->id, ioctl_rt_move_found, arg, c);
}

static int ioctl_rt_priority_found(struct partition *p, void *data, struct complaint *c)
{
	const struct shimos_rt_priority *arg = data;

	return ioctl_check_rt(p, c) ?: kind_rt_priority(p, arg->priority, c);
}

int ioctl_rt_priority(void *session, void *data, struct complaint *c)
{
	struct shimos_rt_priority *arg = data;

	return ioctl_check_permission(c) ?: ioctl_with(arg->id, ioctl_rt_priority_found, arg, c);
}

static int ioctl_rt_vectors_found(struct partition *p, void *data, struct complaint *c)
{
	return ioctl_check_rt(p, c) ?: kind_rt_vectors(p, data, c);
}

int ioctl_rt_vectors(void *session, void *data, struct complaint *c)
{
	struct shimos_rt_vectors *arg = data;

	return ioctl_with(arg->id, ioctl_rt_vectors_found, arg, c);
}

int ioctl_host_move(void *session, void *data, struct complaint *c)
{
	struct shimos_host_move *arg = data;

	return ioctl_check_permission(c) ?: kind_rt_host_move(arg->cpu, arg->core, c);
}

int ioctl_host_priority(void *session, void *data, struct complaint *c)
{
	struct shimos_host_priority *arg = data;

	return ioctl_check_permission(c) ?: kind_rt_host_priority(arg->cpu, arg->priority, c);
}

int ioctl_host_policy(void *session, void *data, struct complaint *c)
{
	struct shimos_host_policy *arg = data;

	return (arg->flags ? ioctl_check_permission(c) : 0) ?: kind_rt_host_policy(arg, c);
}

int ioctl_host_cpus(void *session, void *data, struct complaint *c)
{
	struct shimos_host_cpus *arg = data;

	return shimos_door_check_reserved(arg->reserved, c) ?: kind_rt_host_cpus(arg);
}

static int ioctl_rt_check_found(struct partition *p, void *data, struct complaint *c)
{
	return ioctl_check_rt(p, c) ?: kind_rt_check(p, data, c);
}

int ioctl_rt_check(void *session, void *data, struct complaint *c)
{
	struct shimos_rt_check *arg = data;

	arg->pages = arg->changed = 0;
	return ioctl_with(arg->id, ioctl_rt_check_found, arg, c);
}
