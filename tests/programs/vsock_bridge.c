// SPDX-License-Identifier: GPL-2.0
/*
 * Lets Linux's own vhost_vsock serve a partition, on memory that is mapped by page numbers.
 *
 * Usage: vsock_bridge KERNEL CID.  Prints "started" and "stopped"; ends with the device.
 */
#include <endian.h>
#include <linux/vhost.h>
#include <sys/mman.h>
#include "served.h"

#define RINGS		2		/* vhost serves; the third, for events, nobody does */

static int vhost;
static char *mapped[SHIMOS_PROGRAM_RANGES];

/* Where the program has an address of the user's. */
static __u64 here(const struct shimos_program_next *asked, __u64 address)
{
	unsigned int i;

	for (i = 0; i < asked->ranges; i++)
		if (address - asked->range[i].start < asked->range[i].size)
			return (__u64)mapped[i] + address - asked->range[i].start;
	MUST(!"an address in the user's memory");
	return 0;
}

static void map_memory(struct served *s)
{
	struct {
		struct vhost_memory memory;
		struct vhost_memory_region region[SHIMOS_PROGRAM_RANGES];
	} table = { .memory.nregions = s->asked.ranges };
	int memory = served_memory(s);
	unsigned int i;

	for (i = 0; i < s->asked.ranges; i++) {
		__u64 start = s->asked.range[i].start, size = s->asked.range[i].size;

		mapped[i] = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory, start);
		MUST(mapped[i] != MAP_FAILED);
		table.region[i] = (struct vhost_memory_region){
			.guest_phys_addr = start,
			.memory_size = size,
			.userspace_addr = (__u64)mapped[i],
		};
	}
	close(memory);
	MUST(!ioctl(vhost, VHOST_SET_MEM_TABLE, &table));
}

static void start_ring(struct served *s, unsigned int n)
{
	const struct shimos_program_ring *ring = &s->asked.ring[n];
	struct vhost_vring_state size = { n, ring->size }, base = { n, 0 };
	struct vhost_vring_addr addr = {
		.index = n,
		.desc_user_addr = here(&s->asked, ring->desc),
		.avail_user_addr = here(&s->asked, ring->avail),
		.used_user_addr = here(&s->asked, ring->used),
	};
	struct vhost_vring_file kick = { n }, call = { n };

	served_events(s, n, &kick.fd, &call.fd);
	MUST(!ioctl(vhost, VHOST_SET_VRING_NUM, &size));
	MUST(!ioctl(vhost, VHOST_SET_VRING_BASE, &base));
	MUST(!ioctl(vhost, VHOST_SET_VRING_ADDR, &addr));
	MUST(!ioctl(vhost, VHOST_SET_VRING_KICK, &kick));
	MUST(!ioctl(vhost, VHOST_SET_VRING_CALL, &call));
	close(kick.fd);
	close(call.fd);
}

static void start(struct served *s)
{
	int running = 1, n;

	MUST(!ioctl(vhost, VHOST_SET_FEATURES, &s->asked.features));
	map_memory(s);
	for (n = 0; n < RINGS; n++)
		start_ring(s, n);
	MUST(!ioctl(vhost, VHOST_VSOCK_SET_RUNNING, &running));
}

static void stop(struct served *s)
{
	unsigned int i;
	int running = 0;

	MUST(!ioctl(vhost, VHOST_VSOCK_SET_RUNNING, &running));
	for (i = 0; i < s->asked.ranges; i++)
		munmap(mapped[i], s->asked.range[i].size);
}

int main(int argc, char **argv)
{
	struct shimos_dev_add_program arg = {
		.type = SHIMOS_DEV_VSOCK,
		.queues = RINGS + 1,
		.config_len = sizeof(__u64),
		.name = "vsock",
	};
	struct served served = { .start = start, .stop = stop };
	__u64 features, cid;

	MUST(argc == 3);
	arg.user = atoi(argv[1]);
	cid = strtoull(argv[2], NULL, 0);
	vhost = open("/dev/vhost-vsock", O_RDWR);
	MUST(vhost >= 0 && !ioctl(vhost, VHOST_SET_OWNER));
	MUST(!ioctl(vhost, VHOST_GET_FEATURES, &features) && !(FEATURES & ~features));
	MUST(!ioctl(vhost, VHOST_VSOCK_SET_GUEST_CID, &cid));
	cid = htole64(cid);
	memcpy(arg.config, &cid, sizeof(cid));
	served_add(&served, &arg);
	served_serve(&served);
	return 0;
}
