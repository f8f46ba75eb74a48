/* SPDX-License-Identifier: GPL-2.0 */
/* What the tests' programs share that serve a device of a partition's. */
#ifndef _TESTS_SERVED_H
#define _TESTS_SERVED_H

#include <fcntl.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "must.h"
#include "uapi/shimos_program.h"

#define HEADER(arg)	{ sizeof(arg), SHIMOS_DEV_VERSION }
#define FEATURES	(1ULL << VIRTIO_F_VERSION_1 | 1ULL << VIRTIO_RING_F_EVENT_IDX | \
			 1ULL << VIRTIO_RING_F_INDIRECT_DESC)

/* Who serves: what it does when the driver starts and stops. */
struct served {
	int device;
	struct shimos_program_next asked;
	void (*start)(struct served *s);
	void (*stop)(struct served *s);
};

static void served_add(struct served *s, struct shimos_dev_add_program *arg)
{
	int fd = open("/dev/shimos-devices", O_RDWR);

	arg->hdr = (struct shimos_dev_header)HEADER(*arg);
	arg->features = FEATURES;
	arg->ring = 256;
	MUST(fd >= 0 && !ioctl(fd, SHIMOS_DEV_IOC_ADD_PROGRAM, arg));
	s->device = arg->fd;
	close(fd);
}

static int served_memory(struct served *s)
{
	struct shimos_program_memory arg = { .hdr = HEADER(arg) };

	MUST(!ioctl(s->device, SHIMOS_PROGRAM_IOC_MEMORY, &arg));
	return arg.fd;
}

/* Two eventfds of a ring, which the caller closes when who serves has them. */
static void served_events(struct served *s, unsigned int ring, int *kick, int *call)
{
	struct shimos_program_events arg = { .hdr = HEADER(arg), .queue = ring };

	arg.kick = *kick = eventfd(0, EFD_NONBLOCK);
	arg.call = *call = eventfd(0, EFD_NONBLOCK);
	MUST(!ioctl(s->device, SHIMOS_PROGRAM_IOC_EVENTS, &arg));
}

static void served_do_next(struct served *s)
{
	struct shimos_program_answer answer = { .hdr = HEADER(answer) };

	s->asked.hdr = (struct shimos_dev_header)HEADER(s->asked);
	MUST(!ioctl(s->device, SHIMOS_PROGRAM_IOC_NEXT, &s->asked));
	if (s->asked.event == SHIMOS_PROGRAM_START)
		s->start(s);
	else if (s->asked.event == SHIMOS_PROGRAM_STOP)
		s->stop(s);
	else
		return;
	answer.sequence = s->asked.sequence;
	MUST(!ioctl(s->device, SHIMOS_PROGRAM_IOC_ANSWER, &answer));
	puts(s->asked.event == SHIMOS_PROGRAM_START ? "started" : "stopped");
	fflush(stdout);
}

/* Returns when the device is gone. */
static void served_serve(struct served *s)
{
	struct pollfd polled = { .fd = s->device, .events = POLLIN };

	while (poll(&polled, 1, -1) == 1 && !(polled.revents & POLLHUP))
		served_do_next(s);
}

#endif
