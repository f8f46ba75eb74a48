/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Messages between programs on different kernels of one machine: a channel of
 * /dev/ikc, in GNU C.  Needs only this header, ring.h, atomics.h,
 * shimos_ikc.h and its parts (shimos_ikc_*.h) beside it.
 *
 *	struct ikc_channel ch;
 *	int peer = ikc_find_kernel("web");
 *
 *	ikc_channel_open(&ch, peer, 1, 1, 64, 256);	 (own ring: 64 x 256 bytes)
 *	ikc_channel_connect(&ch, 5000);			 (wait for the peer's)
 *	ikc_send(&ch, "hello", 5);
 *	n = ikc_receive_wait(&ch, buffer, sizeof(buffer), -1);
 *	ikc_channel_close(&ch);
 *
 * All functions return a negative errno on failure; ikc_explain() has a sentence
 * for it.  Messages arrive whole and in order.  No system call is made as long
 * as nobody sleeps.  One thread may send while another receives; two threads
 * must not send, or receive, at the same time.
 */
#ifndef _SHIMOS_IKC_LIB_H
#define _SHIMOS_IKC_LIB_H

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "ring.h"

#define IKC_DEVICE		"/dev/ikc"
#define IKC_DEFAULT_SPIN_NS	50000
#define IKC_MIN_SPIN_NS		1000

struct ikc_channel {
	int fd;
	__u32 peer, channel, peer_channel;	/* channel: as chosen by the kernel */
	__u32 module_version;	/* after -EPROTO: the module's, see IKC_VERSION */
	__u64 spin_max_ns;	/* yours: how long a wait may spin, 0: never */

	__u64 receive_spin_ns, send_spin_ns;	/* adapted, up to spin_max_ns */
	struct ikc_consumer in;
	struct ikc_producer out;
	void *receive_map, *send_map;
	size_t receive_bytes, send_bytes;
};

/* ---- before the first message ---- */

/* A sentence for the errors that these functions return. */
static inline const char *ikc_explain(int error)
{
	switch (error < 0 ? -error : error) {
	case 0:
		return "no error";
	case ENOENT:
		return "there is no /dev/ikc: load shimos_kloader (host) or shimos_agent (partition)";
	case EACCES:
	case EPERM:
		return "only root may use /dev/ikc";
	case ENODEV:
		return "this kernel is not part of a SHIMOS machine: load shimos_kloader (host) or shimos_agent (partition)";
	case EPROTO:
		return "this program and the shimos_ikc module are of different versions";
	case ENXIO:
		return "there is no such kernel";
	case EHOSTDOWN:
		return "the peer's kernel is down";
	case EBUSY:
		return "the channel is taken by another program";
	case ENOSPC:
		return "a ring of that size does not fit: at most 64 KiB with its header";
	case ENOMEM:
		return "no memory, or the area that the kernels share is full";
	case ETIME:
		return "nothing happened in time";
	case EPIPE:
		return "the peer has closed the channel, or its kernel died";
	case ENOTCONN:
		return "the channel is not connected";
	case EAGAIN:
		return "there is nothing to receive, or no room to send";
	case EMSGSIZE:
		return "the message does not fit: into a slot, or into the buffer";
	case EBADMSG:
		return "the peer wrote nonsense into the ring: close the channel";
	case EINTR:
		return "interrupted by a signal";
	case EINVAL:
		return "a number is out of range: channel, slots or slot size";
	default:
		return strerror(error < 0 ? -error : error);
	}
}

static inline struct ikc_header ikc_header_for(size_t size)
{
	struct ikc_header header = { (__u32)size, IKC_VERSION };

	return header;
}

/* The number of the kernel called @name ("host" is 0), or -ENXIO. */
static inline int ikc_find_kernel(const char *name)
{
	struct ikc_kernel_info info;
	__u32 number;
	int ret = -ENXIO;
	int fd = open(IKC_DEVICE, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	for (number = 0; number < IKC_MAX_KERNELS; number = info.number + 1) {
		memset(&info, 0, sizeof(info));
		info.hdr = ikc_header_for(sizeof(info));
		info.number = number;
		info.flags = IKC_KERNEL_NEXT;
		if (ioctl(fd, IKC_IOC_KERNEL, &info)) {
			ret = errno == ENOENT ? -ENXIO : -errno;
			break;
		}
		if (info.number < number)
			break;
		if (info.state != IKC_ABSENT && !strncmp(info.name, name, IKC_NAME_LEN)) {
			ret = (int)info.number;
			break;
		}
	}
	close(fd);
	return ret;
}

static inline size_t ikc_map_bytes(__u32 slots, __u32 slot_size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (size_t)((ikc_ring_bytes(slots, slot_size) + page - 1) & ~(page - 1));
}

static inline int ikc_map(struct ikc_channel *ch, size_t bytes, unsigned long where, void **map)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ch->fd, (off_t)where);

	if (memory == MAP_FAILED)
		return -errno;
	*map = memory;
	return 0;
}

/* Give everything back.  The peer is told.  Harmless on a closed channel. */
static inline void ikc_channel_close(struct ikc_channel *ch)
{
	if (ch->send_map)
		munmap(ch->send_map, ch->send_bytes);
	if (ch->receive_map)
		munmap(ch->receive_map, ch->receive_bytes);
	if (ch->fd >= 0)
		close(ch->fd);
	ch->send_map = ch->receive_map = NULL;
	ch->fd = -1;
}

/**
 * ikc_channel_open() - make the end where this program receives
 * @peer: kernel number, see ikc_find_kernel()
 * @channel: own number, below IKC_CHANNELS, or IKC_ANY_CHANNEL
 * @peer_channel: the number that the peer's program has opened or will open
 * @slots: messages that fit into the own ring, 2 or more
 * @slot_size: bytes of a slot, a multiple of 16; a message has 8 less
 */
static inline int ikc_channel_open(struct ikc_channel *ch, __u32 peer, __u32 channel,
				   __u32 peer_channel, __u32 slots, __u32 slot_size)
{
	struct ikc_open arg;
	int ret;

	memset(ch, 0, sizeof(*ch));
	ch->spin_max_ns = ch->receive_spin_ns = ch->send_spin_ns = IKC_DEFAULT_SPIN_NS;
	ch->peer = peer;
	ch->peer_channel = peer_channel;
	ch->fd = open(IKC_DEVICE, O_RDWR | O_CLOEXEC);
	if (ch->fd < 0)
		return -errno;
	memset(&arg, 0, sizeof(arg));
	arg.hdr = ikc_header_for(sizeof(arg));
	arg.peer = peer;
	arg.channel = channel;
	arg.peer_channel = peer_channel;
	arg.slots = slots;
	arg.slot_size = slot_size;
	ret = ioctl(ch->fd, IKC_IOC_OPEN, &arg) ? -errno : 0;
	if (ret == -EPROTO)
		ch->module_version = arg.hdr.version;
	if (!ret) {
		ch->channel = arg.channel;
		ch->receive_bytes = ikc_map_bytes(slots, slot_size);
		ret = ikc_map(ch, ch->receive_bytes, IKC_MMAP_RECEIVE, &ch->receive_map);
	}
	if (ret) {
		ikc_channel_close(ch);
		return ret;
	}
	ikc_consumer_init(&ch->in, (struct ikc_ring *)ch->receive_map, slots, slot_size);
	return 0;
}

/*
 * Wait until the peer's program has opened its end.  After -ETIME, -EINTR and
 * -EBUSY it can be tried again.
 */
static inline int ikc_channel_connect(struct ikc_channel *ch, __u32 timeout_ms)
{
	struct ikc_connect arg;
	int ret;

	memset(&arg, 0, sizeof(arg));
	arg.hdr = ikc_header_for(sizeof(arg));
	arg.timeout_ms = timeout_ms;
	if (ioctl(ch->fd, IKC_IOC_CONNECT, &arg))
		return -errno;
	if (!ikc_ring_bytes(arg.slots, arg.slot_size))
		return -EBADMSG;
	ch->send_bytes = ikc_map_bytes(arg.slots, arg.slot_size);
	ret = ikc_map(ch, ch->send_bytes, IKC_MMAP_SEND, &ch->send_map);
	if (ret)
		return ret;
	return ikc_producer_init(&ch->out, (struct ikc_ring *)ch->send_map, ch->send_bytes);
}

/* The largest message that the peer takes. */
static inline __u32 ikc_send_max(const struct ikc_channel *ch)
{
	return ikc_slot_room(ch->out.slot_size);
}

/* ---- details of the functions below ---- */

/* The kernel says so when the peer has closed its end or died. */
static inline bool ikc_peer_gone(const struct ikc_channel *ch)
{
	return READ_ONCE(ch->in.ring->closed) != 0;
}

static inline int ikc_notify(struct ikc_channel *ch)
{
	return ioctl(ch->fd, IKC_IOC_NOTIFY) ? -errno : 0;
}

static inline __u64 ikc_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (__u64)now.tv_sec * 1000000000 + (__u64)now.tv_nsec;
}

static inline void ikc_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#else
	__asm__ __volatile__("" ::: "memory");
#endif
}

/*
 * How long to spin next time: as long as allowed if what was waited for came
 * soon after, else half of it.
 */
static inline __u64 ikc_adapt(const struct ikc_channel *ch, __u64 spin, __u64 waited)
{
	if (!ch->spin_max_ns)
		return 0;
	if (waited <= ch->spin_max_ns)
		return ch->spin_max_ns;
	spin = spin > ch->spin_max_ns ? ch->spin_max_ns : spin;
	return spin / 2 > IKC_MIN_SPIN_NS ? spin / 2 : IKC_MIN_SPIN_NS;
}

/* Sleep until the doorbell rings.  @end: 0 means for ever. */
static inline int ikc_sleep(struct ikc_channel *ch, short events, __u64 end)
{
	struct pollfd p = { ch->fd, events, 0 };
	__u64 now = end ? ikc_now_ns() : 0;
	__u64 ms = end > now ? (end - now + 999999) / 1000000 : 0;
	int ret;

	if (end && !ms)
		return -ETIME;
	ret = poll(&p, 1, !end ? -1 : ms > 3600000 ? 3600000 : (int)ms);
	if (ret < 0)
		return -errno;
	if (p.revents & (POLLERR | POLLNVAL))
		return -EIO;
	return p.revents & POLLHUP && !(p.revents & events) ? -EPIPE : 0;
}

static inline __u64 ikc_deadline(int timeout_ms, __u64 start)
{
	return timeout_ms < 0 ? 0 : start + (__u64)timeout_ms * 1000000;
}

/* Spin until something is there to receive (or no more will be). */
static inline void ikc_spin_receive(struct ikc_channel *ch, __u64 end)
{
	unsigned int turn;

	for (turn = 1; !ikc_ready(&ch->in) && !ikc_peer_gone(ch); turn++) {
		ikc_relax();
		if (turn % 32 == 0 && ikc_now_ns() >= end)
			return;
	}
}

static inline void ikc_spin_send(struct ikc_channel *ch, __u64 end)
{
	unsigned int turn;

	for (turn = 1; !ikc_has_room(&ch->out) && !ikc_peer_gone(ch); turn++) {
		ikc_relax();
		if (ch->out.broken || (turn % 32 == 0 && ikc_now_ns() >= end))
			return;
	}
}

/* ---- sending ---- */

/*
 * Wake the peer if it sleeps: after one or many ikc_put().  -EPIPE if it is
 * gone.
 */
static inline int ikc_flush(struct ikc_channel *ch)
{
	if (ikc_must_ring(&ch->out)) {
		int ret = ikc_notify(ch);

		if (ret && !ikc_peer_gone(ch))
			return ret;
	}
	return ikc_peer_gone(ch) ? -EPIPE : 0;
}

/*
 * Put one message of a batch into the ring, without waking the peer: that is
 * ikc_flush()'s.  Never blocks: -EAGAIN if there is no room (then what was put
 * before is flushed, or there never would be), -EMSGSIZE, -EPIPE, -EBADMSG.
 */
static inline int ikc_put(struct ikc_channel *ch, const void *data, __u32 len)
{
	int ret;

	if (!ch->out.ring)
		return -ENOTCONN;
	ret = ikc_ring_write(&ch->out, data, len);
	if (!ret || ret == -EMSGSIZE)
		return ret;
	/* A peer that is gone may leave a ring that looks full, or like nonsense. */
	if (ikc_peer_gone(ch))
		return -EPIPE;
	if (ret == -EAGAIN) {
		int flushed = ikc_flush(ch);

		return flushed ? flushed : -EAGAIN;
	}
	return ret;
}

/* Send one message.  Never blocks: -EAGAIN if there is no room. */
static inline int ikc_send(struct ikc_channel *ch, const void *data, __u32 len)
{
	int ret = ikc_put(ch, data, len);

	return ret ? ret : ikc_flush(ch);
}

/* Send one message, wait for room if need be: -ETIME; @timeout_ms -1: for ever. */
static inline int ikc_send_wait(struct ikc_channel *ch, const void *data, __u32 len,
				int timeout_ms)
{
	int ret = ikc_send(ch, data, len);
	__u64 start, end;

	if (ret != -EAGAIN)
		return ret;
	start = ikc_now_ns();
	end = ikc_deadline(timeout_ms, start);
	ikc_spin_send(ch, start + ch->send_spin_ns);
	while ((ret = ikc_send(ch, data, len)) == -EAGAIN) {
		if (!ikc_wait_for_room(&ch->out))
			continue;
		ret = ikc_sleep(ch, POLLOUT, end);
		if (ret)
			return ret;
	}
	ch->send_spin_ns = ikc_adapt(ch, ch->send_spin_ns, ikc_now_ns() - start);
	return ret;
}

/* ---- receiving ---- */

/*
 * Take the next message: its length (0 is one), or -EAGAIN if there is none,
 * -EMSGSIZE if it does not fit into @size (it stays), -EPIPE if there is none
 * and the peer is gone, -EBADMSG.  Never blocks.
 */
static inline int ikc_receive(struct ikc_channel *ch, void *data, __u32 size)
{
	/* asked before the ring is: what a peer left there is not lost */
	bool gone = ikc_peer_gone(ch);
	__u32 len;
	int ret = ikc_ring_read(&ch->in, data, size, &len);

	if (ikc_must_ring_back(&ch->in) && !gone)
		ikc_notify(ch);
	if (ret)
		return ret == -EAGAIN && gone ? -EPIPE : ret;
	return (int)len;
}

/*
 * Before sleeping on ch->fd in a poll loop of your own (POLLIN): true if you may,
 * false if there is something to receive already.
 */
static inline bool ikc_may_sleep(struct ikc_channel *ch)
{
	bool quiet = ikc_arm(&ch->in);

	/* arming tells the producer which room is free; it may wait for that */
	if (ikc_must_ring_back(&ch->in))
		ikc_notify(ch);
	return quiet && !ikc_peer_gone(ch);
}

/*
 * The same, but wait for a message: first spinning, then asleep.  -ETIME after
 * @timeout_ms; -1: for ever.
 */
static inline int ikc_receive_wait(struct ikc_channel *ch, void *data, __u32 size,
				   int timeout_ms)
{
	int ret = ikc_receive(ch, data, size);
	__u64 start, end;

	if (ret != -EAGAIN)
		return ret;
	start = ikc_now_ns();
	end = ikc_deadline(timeout_ms, start);
	ikc_spin_receive(ch, start + ch->receive_spin_ns);
	while ((ret = ikc_receive(ch, data, size)) == -EAGAIN) {
		if (!ikc_may_sleep(ch))
			continue;
		ret = ikc_sleep(ch, POLLIN, end);
		if (ret)
			return ret;
	}
	ch->receive_spin_ns = ikc_adapt(ch, ch->receive_spin_ns, ikc_now_ns() - start);
	return ret;
}

#endif
