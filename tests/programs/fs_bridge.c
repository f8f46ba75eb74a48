// SPDX-License-Identifier: GPL-2.0
/*
 * Lets a stock virtiofsd serve a partition, on memory that it maps by page numbers: the
 * front end of vhost-user (QEMU's docs/interop/vhost-user), as small as can be.
 *
 * Usage: fs_bridge KERNEL SOCKET TAG.  Prints "started" and "stopped"; ends with the device.
 */
#include <endian.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "served.h"

#define RINGS			2	/* for what is urgent, and for requests */
#define PROTOCOL_FEATURES	(1ULL << 30)

enum {
	GET_FEATURES = 1,
	SET_FEATURES = 2,
	SET_OWNER = 3,
	SET_MEM_TABLE = 5,
	SET_VRING_NUM = 8,
	SET_VRING_ADDR = 9,
	SET_VRING_BASE = 10,
	GET_VRING_BASE = 11,
	SET_VRING_KICK = 12,
	SET_VRING_CALL = 13,
	GET_PROTOCOL_FEATURES = 15,
	SET_PROTOCOL_FEATURES = 16,
	SET_VRING_ENABLE = 18,
};

struct message {
	__u32 request, flags, size;
	union {
		__u64 number;
		struct {
			__u32 index, value;
		} state;
		struct {
			__u32 index, flags;
			__u64 desc, used, avail, log;
		} addr;
		struct {
			__u32 count, padding;
			struct {
				__u64 guest, size, user, offset;
			} region[8];
		} memory;
	};
} __attribute__((packed));

#define SIZE_OF(member)	sizeof(((struct message *)0)->member)
#define HEAD		12

static int daemon_fd;

/* Sends a message with so many copies of a descriptor. */
static void say_with(struct message *m, __u32 request, __u32 size, int fd, unsigned int count)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(8 * sizeof(int))];
	} control;
	struct iovec piece = { m, HEAD + size };
	struct msghdr msg = { .msg_iov = &piece, .msg_iovlen = 1 };
	unsigned int i;

	m->request = request;
	m->flags = 1;
	m->size = size;
	if (count) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(count * sizeof(int));
		control.head = (struct cmsghdr){
			.cmsg_len = CMSG_LEN(count * sizeof(int)),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
		};
		for (i = 0; i < count; i++)
			((int *)CMSG_DATA(&control.head))[i] = fd;
	}
	MUST(sendmsg(daemon_fd, &msg, MSG_NOSIGNAL) == HEAD + (ssize_t)size);
}

static void say(struct message *m, __u32 request, __u32 size)
{
	say_with(m, request, size, -1, 0);
}

static void say_number(__u32 request, __u64 number)
{
	struct message m = { .number = number };

	say(&m, request, sizeof(number));
}

static void say_state(__u32 request, __u32 index, __u32 value)
{
	struct message m = { .state = { index, value } };

	say(&m, request, SIZE_OF(state));
}

/* The answer to what was said last. */
static void hear(struct message *m)
{
	MUST(recv(daemon_fd, m, HEAD, MSG_WAITALL) == HEAD && m->size <= sizeof(*m) - HEAD);
	MUST(recv(daemon_fd, &m->number, m->size, MSG_WAITALL) == (ssize_t)m->size);
}

static __u64 ask_number(__u32 request)
{
	struct message m = { 0 };

	say(&m, request, 0);
	hear(&m);
	return m.number;
}

static void give_memory(struct served *s)
{
	struct message m = { .memory.count = s->asked.ranges };
	int memory = served_memory(s);
	unsigned int i;

	MUST(s->asked.ranges <= 8);
	for (i = 0; i < s->asked.ranges; i++) {
		__u64 start = s->asked.range[i].start;

		/* this program maps nothing: its addresses are the user's */
		m.memory.region[i].guest = m.memory.region[i].user = start;
		m.memory.region[i].offset = start;
		m.memory.region[i].size = s->asked.range[i].size;
	}
	say_with(&m, SET_MEM_TABLE, 8 + s->asked.ranges * sizeof(m.memory.region[0]), memory,
		 s->asked.ranges);
	close(memory);
}

static void give_event(__u32 request, unsigned int ring, int fd)
{
	struct message m = { .number = ring };

	say_with(&m, request, sizeof(m.number), fd, 1);
	close(fd);
}

static void start_ring(struct served *s, unsigned int n)
{
	const struct shimos_program_ring *ring = &s->asked.ring[n];
	struct message addr = { .addr = { n, 0, ring->desc, ring->used, ring->avail, 0 } };
	int kick, call;

	served_events(s, n, &kick, &call);
	say_state(SET_VRING_NUM, n, ring->size);
	say_state(SET_VRING_BASE, n, 0);
	say(&addr, SET_VRING_ADDR, SIZE_OF(addr));
	give_event(SET_VRING_CALL, n, call);
	give_event(SET_VRING_KICK, n, kick);
	say_state(SET_VRING_ENABLE, n, 1);
}

static void start(struct served *s)
{
	unsigned int n;

	say_number(SET_FEATURES, s->asked.features | PROTOCOL_FEATURES);
	give_memory(s);
	for (n = 0; n < RINGS; n++)
		start_ring(s, n);
	/* all of it is done when this is answered */
	ask_number(GET_FEATURES);
}

static void stop(struct served *s)
{
	struct message m;
	unsigned int n;

	for (n = 0; n < RINGS; n++) {
		say_state(GET_VRING_BASE, n, 0);
		hear(&m);
	}
}

static void connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	__u64 features;

	daemon_fd = socket(AF_UNIX, SOCK_STREAM, 0);
	MUST(strlen(path) < sizeof(address.sun_path));
	strcpy(address.sun_path, path);
	MUST(!connect(daemon_fd, (struct sockaddr *)&address, sizeof(address)));
	features = ask_number(GET_FEATURES);
	MUST((features & (FEATURES | PROTOCOL_FEATURES)) == (FEATURES | PROTOCOL_FEATURES));
	ask_number(GET_PROTOCOL_FEATURES);
	say_number(SET_PROTOCOL_FEATURES, 0);
	say(&(struct message){ 0 }, SET_OWNER, 0);
}

int main(int argc, char **argv)
{
	struct shimos_dev_add_program arg = {
		.type = SHIMOS_DEV_FS,
		.queues = RINGS,
		.config_len = 36 + sizeof(__u32),
		.name = "fs",
	};
	struct served served = { .start = start, .stop = stop };
	__u32 requests = htole32(1);

	MUST(argc == 4 && strlen(argv[3]) < 36);
	arg.user = atoi(argv[1]);
	strcpy((char *)arg.config, argv[3]);
	memcpy(arg.config + 36, &requests, sizeof(requests));
	connect_to(argv[2]);
	served_add(&served, &arg);
	served_serve(&served);
	return 0;
}
