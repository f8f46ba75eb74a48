// SPDX-License-Identifier: GPL-2.0
/*
 * lib/c/ikc.h against a /dev/ikc of this process: both ends of a channel are
 * threads.  The device does what kernel/ikc/channel.c does, poll(2) above all: it
 * looks only at what the library has published.  `make lib` builds and runs it.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static int fake_open(const char *path, int flags);
static int fake_close(int fd);
static int fake_ioctl(int fd, unsigned long call, ...);
static int fake_poll(struct pollfd *p, nfds_t n, int timeout);
static void *fake_mmap(void *at, size_t len, int prot, int flags, int fd, off_t where);
static int fake_munmap(void *at, size_t len);

#define open(path, flags)	fake_open(path, flags)
#define close(fd)		fake_close(fd)
#define ioctl(...)		fake_ioctl(__VA_ARGS__)
#define poll(p, n, timeout)	fake_poll(p, n, timeout)
#define mmap(...)		fake_mmap(__VA_ARGS__)
#define munmap(at, len)		fake_munmap(at, len)
#include "ikc.h"
#undef open
#undef close
#undef ioctl
#undef poll
#undef mmap
#undef munmap

/* ---- the device ---- */

#define FIRST_FD	100
#define FILES		4

static struct file {
	bool used, opened, gone;
	struct ikc_open open;
	struct ikc_ring *ring;
	struct file *peer;	/* connected to it */
} files[FILES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t rang = PTHREAD_COND_INITIALIZER;
static __u32 module_version = IKC_VERSION;
static __u64 notifications;

static int fail_with(int error)
{
	errno = error;
	return -1;
}

static int fake_open(const char *path, int flags)
{
	int i;

	assert(!strcmp(path, "/dev/ikc") && flags == (O_RDWR | O_CLOEXEC));
	for (i = 0; i < FILES; i++)
		if (!files[i].used) {
			files[i] = (struct file){ .used = true };
			return FIRST_FD + i;
		}
	return fail_with(EMFILE);
}

static int fake_close(int fd)
{
	struct file *file = &files[fd - FIRST_FD];
	int i;

	pthread_mutex_lock(&lock);
	assert(file->used);
	for (i = 0; i < FILES; i++)
		if (files[i].used && files[i].peer == file) {
			files[i].gone = true;
			__atomic_store_n(&files[i].ring->closed, 1, __ATOMIC_RELEASE);
		}
	file->used = false;	/* the ring stays: the peer may still write to it */
	pthread_cond_broadcast(&rang);
	pthread_mutex_unlock(&lock);
	return 0;
}

static int do_open(struct file *file, struct ikc_open *arg)
{
	__u64 bytes = ikc_ring_bytes(arg->slots, arg->slot_size);

	if (!bytes)
		return EINVAL;
	if (bytes > IKC_ALLOC_MAX)
		return ENOSPC;
	if (arg->channel == IKC_ANY_CHANNEL)
		arg->channel = IKC_ECHO_CHANNEL - 1;
	file->ring = aligned_alloc(4096, (bytes + 4095) & ~4095UL);
	memset(file->ring, 0, (bytes + 4095) & ~4095UL);
	ikc_ring_init(file->ring, arg->slots, arg->slot_size);
	file->open = *arg;
	file->opened = true;
	return 0;
}

static int do_connect(struct file *file, struct ikc_connect *arg)
{
	int i;

	for (i = 0; i < FILES; i++)
		if (&files[i] != file && files[i].used && files[i].opened &&
		    files[i].open.channel == file->open.peer_channel) {
			file->peer = &files[i];
			arg->slots = files[i].open.slots;
			arg->slot_size = files[i].open.slot_size;
			return 0;
		}
	return ETIME;
}

static int do_kernel(struct ikc_kernel_info *info)
{
	static const char * const names[] = { "host", "", "web" };

	while (info->number < 3 && !*names[info->number])
		info->number++;
	if (info->number >= 3)
		return ENOENT;
	strcpy(info->name, names[info->number]);
	info->state = IKC_UP;
	return 0;
}

static int call_device(struct file *file, unsigned long call, void *arg)
{
	struct ikc_header *hdr = arg;

	if (call == IKC_IOC_NOTIFY) {
		notifications++;
		pthread_cond_broadcast(&rang);
		return 0;
	}
	if (hdr->size != _IOC_SIZE(call) || hdr->version != module_version) {
		hdr->version = module_version;
		return EPROTO;
	}
	switch (call) {
	case IKC_IOC_OPEN:
		return do_open(file, arg);
	case IKC_IOC_CONNECT:
		return do_connect(file, arg);
	case IKC_IOC_KERNEL:
		return do_kernel(arg);
	}
	return ENOTTY;
}

static int fake_ioctl(int fd, unsigned long call, ...)
{
	va_list list;
	void *arg;
	int error;

	va_start(list, call);
	arg = call == IKC_IOC_NOTIFY ? NULL : va_arg(list, void *);
	va_end(list);
	pthread_mutex_lock(&lock);
	error = call_device(&files[fd - FIRST_FD], call, arg);
	pthread_mutex_unlock(&lock);
	return error ? fail_with(error) : 0;
}

static short ready(const struct file *file)
{
	struct ikc_ring *own = file->ring, *peer = file->peer->ring;
	__u64 tail = READ_ONCE(own->tail);
	struct ikc_slot *slot = ikc_slot_after(ikc_first_slot(own),
					       tail % own->slots * own->slot_size);
	short events = 0;

	if (READ_ONCE(slot->seq) == (__u32)(tail + 1))
		events |= POLLIN;
	if (READ_ONCE(peer->head) - READ_ONCE(peer->tail) < peer->slots)
		events |= POLLOUT;
	return file->gone ? (events & POLLIN) | POLLHUP : events;
}

static int fake_poll(struct pollfd *p, nfds_t n, int timeout)
{
	const struct file *file = &files[p->fd - FIRST_FD];
	struct timespec end;
	int error = 0;

	assert(n == 1);
	clock_gettime(CLOCK_REALTIME, &end);
	/* no test waits for ever: a lost doorbell is to be seen */
	end.tv_sec += timeout < 0 ? 20 : timeout / 1000;
	end.tv_nsec += timeout < 0 ? 0 : timeout % 1000 * 1000000L;
	if (end.tv_nsec >= 1000000000L) {
		end.tv_nsec -= 1000000000L;
		end.tv_sec++;
	}
	pthread_mutex_lock(&lock);
	while (!(p->revents = ready(file) & (p->events | POLLHUP)) && !error)
		error = pthread_cond_timedwait(&rang, &lock, &end);
	pthread_mutex_unlock(&lock);
	assert(timeout >= 0 || !error);
	return p->revents ? 1 : 0;
}

static void *fake_mmap(void *at, size_t len, int prot, int flags, int fd, off_t where)
{
	struct file *file = &files[fd - FIRST_FD];

	assert(!at && !(len % 4096) && prot == (PROT_READ | PROT_WRITE) && flags == MAP_SHARED);
	if (where == IKC_MMAP_RECEIVE)
		return file->ring;
	assert(where == (off_t)IKC_MMAP_SEND && file->peer);
	return file->peer->ring;
}

static int fake_munmap(void *at, size_t len)
{
	assert(at && len);
	return 0;
}

/* ---- the tests ---- */

static void make_pair(struct ikc_channel *a, struct ikc_channel *b, __u32 slots)
{
	assert(!ikc_channel_open(a, 2, 1, 2, slots, 32));
	assert(ikc_channel_connect(a, 0) == -ETIME);
	assert(!ikc_channel_open(b, 0, 2, 1, slots, 32));
	assert(!ikc_channel_connect(a, 0) && !ikc_channel_connect(b, 0));
}

static void free_pair(struct ikc_channel *a, struct ikc_channel *b)
{
	struct ikc_ring *rings[] = { a->in.ring, b->in.ring };

	ikc_channel_close(a);
	ikc_channel_close(b);
	ikc_channel_close(b);	/* harmless */
	free(rings[0]);
	free(rings[1]);
}

static void test_names(void)
{
	assert(ikc_find_kernel("host") == 0 && ikc_find_kernel("web") == 2);
	assert(ikc_find_kernel("nobody") == -ENXIO && ikc_find_kernel("") == -ENXIO);
}

static void test_refusals(void)
{
	struct ikc_channel ch;

	assert(ikc_channel_open(&ch, 0, 1, 1, 1, 32) == -EINVAL && ch.fd == -1);
	assert(ikc_channel_open(&ch, 0, 1, 1, 5000, 32) == -ENOSPC);
	module_version = 7;
	assert(ikc_channel_open(&ch, 0, 1, 1, 4, 32) == -EPROTO && ch.module_version == 7);
	module_version = IKC_VERSION;
	assert(!ikc_channel_open(&ch, 0, IKC_ANY_CHANNEL, 1, 4, 32) && ch.channel == 30);
	assert(ikc_send(&ch, "x", 1) == -ENOTCONN);
	free(ch.in.ring);
	ikc_channel_close(&ch);
}

static void test_messages(void)
{
	struct ikc_channel a, b;
	char text[24];
	int i;

	make_pair(&a, &b, 4);
	assert(ikc_send_max(&a) == 24);
	assert(ikc_receive(&b, text, sizeof(text)) == -EAGAIN);
	notifications = 0;
	for (i = 0; i < 3; i++)
		assert(!ikc_put(&a, "abc", 3));
	assert(!notifications && !ikc_flush(&a) && notifications == 1);
	assert(!ikc_send(&a, "", 0) && notifications == 1);
	assert(ikc_send(&a, "x", 1) == -EAGAIN && ikc_send(&a, text, 25) == -EMSGSIZE);
	assert(ikc_send_wait(&a, "x", 1, 5) == -ETIME);
	assert(ikc_receive(&b, text, 2) == -EMSGSIZE);
	for (i = 0; i < 3; i++)
		assert(ikc_receive(&b, text, sizeof(text)) == 3 && !memcmp(text, "abc", 3));
	assert(ikc_receive(&b, text, sizeof(text)) == 0);
	assert(ikc_receive_wait(&b, text, sizeof(text), 5) == -ETIME);
	free_pair(&a, &b);
}

static void test_end(void)
{
	struct ikc_channel a, b;
	struct ikc_ring *ring;
	char text[24];

	make_pair(&a, &b, 4);
	ring = b.in.ring;
	assert(!ikc_send(&b, "end", 3));
	ikc_channel_close(&b);
	assert(ikc_receive(&a, text, sizeof(text)) == 3);
	assert(ikc_receive(&a, text, sizeof(text)) == -EPIPE);
	assert(ikc_receive_wait(&a, text, sizeof(text), -1) == -EPIPE);
	assert(ikc_send(&a, "x", 1) == -EPIPE);
	free(ring);
	free(a.in.ring);
	ikc_channel_close(&a);
}

static void test_nonsense(void)
{
	struct ikc_channel a, b;
	char text[24];

	make_pair(&a, &b, 4);
	ikc_first_slot(a.in.ring)->seq = 99;
	assert(ikc_receive_wait(&a, text, sizeof(text), -1) == -EBADMSG);
	a.out.ring->tail = 99;
	while (!ikc_put(&a, "x", 1))
		;
	assert(ikc_put(&a, "x", 1) == -EBADMSG);
	assert(ikc_send_wait(&a, "x", 1, -1) == -EBADMSG);
	free_pair(&a, &b);
}

#define MESSAGES	30000

static void *echo(void *data)
{
	struct ikc_channel *ch = data;
	char text[24];
	int len;

	while ((len = ikc_receive_wait(ch, text, sizeof(text), -1)) >= 0) {
		int ret = ikc_send_wait(ch, text, (__u32)len, -1);

		/* who has got the last answer may have left before we ring for it */
		assert(!ret || ret == -EPIPE);
	}
	assert(len == -EPIPE);
	return NULL;
}

static void *sender(void *data)
{
	__u64 n;

	for (n = 0; n < MESSAGES; n++)
		assert(!ikc_send_wait(data, &n, sizeof(n), -1));
	return NULL;
}

/* One thread sends, another receives what comes back; all of them fall asleep. */
static void test_stream(__u64 spin_ns)
{
	struct ikc_channel a, b;
	struct ikc_ring *ring;
	pthread_t echoer, writer;
	__u64 n, got;

	make_pair(&a, &b, 4);
	ring = a.in.ring;
	a.spin_max_ns = a.send_spin_ns = a.receive_spin_ns = spin_ns;
	b.spin_max_ns = b.send_spin_ns = b.receive_spin_ns = spin_ns;
	assert(!pthread_create(&echoer, NULL, echo, &b));
	assert(!pthread_create(&writer, NULL, sender, &a));
	for (n = 0; n < MESSAGES; n++)
		assert(ikc_receive_wait(&a, &got, sizeof(got), -1) == sizeof(got) && got == n);
	pthread_join(writer, NULL);
	ikc_channel_close(&a);
	pthread_join(echoer, NULL);
	free(ring);
	free(b.in.ring);
	ikc_channel_close(&b);
}

int main(void)
{
	test_names();
	test_refusals();
	test_messages();
	test_end();
	test_nonsense();
	test_stream(0);
	test_stream(20000);
	printf("lib/c: all good\n");
	return 0;
}
