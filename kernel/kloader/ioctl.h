/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of /dev/shimos share. */
#ifndef _KLOADER_IOCTL_H
#define _KLOADER_IOCTL_H

#include "kloader.h"

/* May the caller do what starts another kernel, or changes how one runs? */
int ioctl_check_permission(struct complaint *c);
/* Find a partition and do something with it; @arg is handed on. */
int ioctl_with(u32 id, int (*run)(struct partition *p, void *arg, struct complaint *c),
	       void *arg, struct complaint *c);

/* ioctl_rt.c */
int ioctl_rt(void *session, void *data, struct complaint *c);
int ioctl_rt_latency(void *session, void *data, struct complaint *c);
int ioctl_rt_move(void *session, void *data, struct complaint *c);
int ioctl_rt_priority(void *session, void *data, struct complaint *c);
int ioctl_rt_vectors(void *session, void *data, struct complaint *c);
int ioctl_rt_check(void *session, void *data, struct complaint *c);
int ioctl_host_move(void *session, void *data, struct complaint *c);
int ioctl_host_priority(void *session, void *data, struct complaint *c);
int ioctl_host_policy(void *session, void *data, struct complaint *c);
int ioctl_host_cpus(void *session, void *data, struct complaint *c);

#endif
