/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of /dev/shimos share. */
#ifndef _KLOADER_IOCTL_H
#define _KLOADER_IOCTL_H

#include "kloader.h"

/**
 * ioctl_check_permission() - may the caller do what starts another kernel, or changes how one runs?
 * @c: why not
 *
 * Context: process.
 * Return: 0 or -EPERM.
 */
int ioctl_check_permission(struct complaint *c);

/**
 * ioctl_with() - find a partition and do something with it
 * @id: its id
 * @run: does it; may sleep
 * @arg: for @run
 * @c: why not
 *
 * Context: may sleep.
 * Return: what @run returns, or -ENOENT.
 */
int ioctl_with(u32 id, int (*run)(struct partition *p, void *arg, struct complaint *c),
	       void *arg, struct complaint *c);

/* ---- ioctl_rt.c ---- */

/**
 * ioctl_rt() - SHIMOS_IOC_RT: how a real-time partition shares its CPU
 * @session: the file's; not used
 * @data: a copy of the argument
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int ioctl_rt(void *session, void *data, struct complaint *c);

/**
 * ioctl_rt_latency() - SHIMOS_IOC_RT_LATENCY: how late it gets its timer's interrupts
 * @session: the file's; not used
 * @data: a copy of the argument
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int ioctl_rt_latency(void *session, void *data, struct complaint *c);

/**
 * ioctl_rt_move() - SHIMOS_IOC_RT_MOVE: let it share another CPU
 * @session: the file's; not used
 * @data: a copy of the argument
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int ioctl_rt_move(void *session, void *data, struct complaint *c);

/**
 * ioctl_rt_priority() - SHIMOS_IOC_RT_PRIORITY: give it another priority
 * @session: the file's; not used
 * @data: a copy of the argument
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int ioctl_rt_priority(void *session, void *data, struct complaint *c);

/**
 * ioctl_rt_vectors() - SHIMOS_IOC_RT_VECTORS: which interrupts it and its CPU have had
 * @session: the file's; not used
 * @data: a copy of the argument
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int ioctl_rt_vectors(void *session, void *data, struct complaint *c);

/**
 * ioctl_rt_check() - SHIMOS_IOC_RT_CHECK: is what nobody may change in it as it was loaded?
 * @session: the file's; not used
 * @data: a copy of the argument
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int ioctl_rt_check(void *session, void *data, struct complaint *c);

/**
 * ioctl_host_move() - SHIMOS_IOC_HOST_MOVE: put a CPU of the host's on another core
 * @session: the file's; not used
 * @data: a copy of the argument
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int ioctl_host_move(void *session, void *data, struct complaint *c);

/**
 * ioctl_host_priority() - SHIMOS_IOC_HOST_PRIORITY: which tasks go before real-time programs
 * @session: the file's; not used
 * @data: a copy of the argument
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int ioctl_host_priority(void *session, void *data, struct complaint *c);

/**
 * ioctl_host_policy() - SHIMOS_IOC_HOST_POLICY: where the host's CPUs go because of programs
 * @session: the file's; not used
 * @data: a copy of the argument
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int ioctl_host_policy(void *session, void *data, struct complaint *c);

/**
 * ioctl_host_cpus() - SHIMOS_IOC_HOST_CPUS: where the host's CPUs are
 * @session: the file's; not used
 * @data: a copy of the argument
 * @c: why not
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int ioctl_host_cpus(void *session, void *data, struct complaint *c);

#endif
