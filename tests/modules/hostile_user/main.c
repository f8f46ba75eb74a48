// SPDX-License-Identifier: GPL-2.0
/*
 * A user of shared devices gone bad: loaded in a partition in place of shimos_virtio,
 * it speaks the protocol by itself and lies.  /proc/hostile takes commands, which
 * return when they are done, and gives results as "name value" lines:
 *
 *	victim ADDR		physical memory that is not this partition's
 *	start ID [HOW]		START, right or wrong in one way (enum how)
 *	reset ID		RESET
 *	good ID			a request that is right in every way, on each queue
 *	attack ID WHAT		one that is wrong (attacks[]), on queue 0 of disks, 1 of networks
 *	fuzz ID SECONDS SEED	everything at random, another thread rewrites descriptors
 *	endless ID SECONDS TYPE	a ring that is never empty, until the device is removed
 *	storm ID COUNT		RESET and START, without waiting for answers
 *	packets COUNT SEED	packets at random
 *	mute 0|1		REMOVE is not answered
 *	enough			ends what of this is going on
 */
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/module.h>

#include "../command.h"
#include "hostile.h"

static struct target targets[TARGETS];
static DECLARE_WAIT_QUEUE_HEAD(changed);
u64 victim = 0x100000;
static bool mute;
bool enough;
u8 status;			/* of the last request */
bool used;			/* it came back */
u64 tries, restarts, completions;
static u64 removals;
struct rnd_state rnd;		/* of the thread that runs commands */

u32 below(struct rnd_state *r, u32 limit)
{
	return prandom_u32_state(r) % (limit ?: 1);
}

/* ---- talking ---- */

static struct target *find(u32 id)
{
	int i;

	for (i = 0; i < TARGETS; i++)
		if (targets[i].id == id && id)
			return &targets[i];
	return NULL;
}

static void added(const struct ikc_packet *pkt)
{
	struct target *t = find(pkt->param[0]);
	int i;

	for (i = 0; !t && i < TARGETS; i++)
		if (!targets[i].id)
			t = &targets[i];
	if (!t || pkt->size != sizeof(t->desc))
		return;
	memcpy(&t->desc, ikc_pointer(pkt->data), sizeof(t->desc));
	if (!t->pages)
		t->pages = alloc_pages(GFP_KERNEL | __GFP_ZERO, ORDER);
	if (!t->pages)
		return;
	t->mem = page_address(t->pages);
	t->phys = page_to_phys(t->pages);
	WRITE_ONCE(t->id, pkt->param[0]);
}

/* -EAGAIN: the owner reads nothing any more. */
int write_packet(const struct ikc_packet *pkt)
{
	unsigned long until = jiffies + PATIENCE;
	int ret;

	while ((ret = ikc_write(pkt, OWNER, SHIMOS_VIRTIO_OWNER)) == -EAGAIN &&
	       time_before(jiffies, until)) {
		ikc_notify(OWNER, SHIMOS_VIRTIO_OWNER);
		usleep_range(50, 100);
	}
	return ret;
}

int tell(u32 id, u32 cmd, u32 number, u32 value, void *block, u32 size)
{
	struct ikc_packet pkt = { .cmd = cmd, .param = { id, number, value } };
	int ret;

	if (block) {
		pkt.flags = IKC_DATA_SHARED;
		pkt.data = ikc_offset(block);
		pkt.size = size;
	}
	ret = write_packet(&pkt);
	if (ret && block)
		ikc_free(block);
	ikc_notify(OWNER, SHIMOS_VIRTIO_OWNER);
	return ret;
}

static void removed(struct target *t)
{
	removals++;
	if (mute || !t)
		return;
	tell(t->id, SHIMOS_VIRTIO_REMOVED, 0, 0, NULL, 0);
	/* its memory is kept: the owner has let go of it, we could not care less */
	t->id = 0;
}

static void hear(struct work_struct *work)
{
	struct ikc_packet pkt;
	struct target *t;

	do {
		while (!ikc_read(&pkt, SHIMOS_VIRTIO_USER)) {
			t = find(pkt.param[0]);
			if (pkt.cmd == SHIMOS_VIRTIO_ADD)
				added(&pkt);
			else if (pkt.cmd == SHIMOS_VIRTIO_REMOVE)
				removed(t);
			else if (pkt.cmd == SHIMOS_VIRTIO_ANSWER && t) {
				t->answer = -(int)pkt.param[2];
				WRITE_ONCE(t->answered, pkt.param[1]);
			}
			if (pkt.flags == IKC_DATA_SHARED)
				ikc_free(ikc_pointer(pkt.data));
		}
		wake_up_all(&changed);
	} while (!ikc_queue_arm(SHIMOS_VIRTIO_USER));
}

static DECLARE_WORK(hear_work, hear);

static void rang(void *context, unsigned int kernel)
{
	schedule_work(&hear_work);
}

static const struct ikc_queue_ops ops = { .notify = rang };

int ask(struct target *t, u32 cmd, void *block, u32 size)
{
	u32 number = ++t->asked;
	int ret = tell(t->id, cmd, number, 0, block, size);

	if (ret)
		return ret;
	if (!wait_event_timeout(changed, READ_ONCE(t->answered) == number, PATIENCE))
		return -ETIME;
	return t->answer;
}

/* ---- starting ---- */

static const char *const hows[HOWS] = {
	"right", "version", "size", "short", "no_block", "features", "old", "queues",
	"few_queues", "state_host", "state_odd", "state_end", "desc_host", "desc_odd",
	"desc_end", "avail_host", "avail_odd", "used_host", "used_odd", "ring_odd",
	"ring_large", "ring_huge", "nowhere",
};

u64 end_of_memory(void)
{
	struct ikc_range range[IKC_MAX_RANGES];

	ikc_peer_ranges(ikc_self_number(), range, NULL);
	return range[0].start + range[0].size;
}

static void spoil_start(struct shimos_virtio_start *m, enum how how)
{
	struct shimos_virtio_queue *q = &m->queue[0];

	switch (how) {
	case VERSION:
		m->version++;
		break;
	case SIZE:
		m->size--;
		break;
	case FEATURES:
		m->features = ~0ULL;
		break;
	case OLD:
		m->features = 0;
		break;
	case QUEUES:
		m->queues = SHIMOS_VIRTIO_QUEUES + 1;
		break;
	case FEW_QUEUES:
		m->queues = 0;
		break;
	case STATE_HOST:
		m->state = victim;
		break;
	case STATE_ODD:
		m->state += 64;
		break;
	case STATE_END:
		m->state = end_of_memory();
		break;
	case DESC_HOST:
		q->desc = victim;
		break;
	case DESC_ODD:
		q->desc += 8;
		break;
	case DESC_END:
		q->desc = end_of_memory() - 16;
		break;
	case AVAIL_HOST:
		q->avail = victim;
		break;
	case AVAIL_ODD:
		q->avail++;
		break;
	case USED_HOST:
		q->used = victim;
		break;
	case USED_ODD:
		q->used += 2;
		break;
	case RING_ODD:
		q->size--;
		break;
	case RING_LARGE:
		q->size = 2 * SHIMOS_VIRTIO_RING;
		break;
	case RING_HUGE:
		q->size = 1U << 31;
		break;
	case NOWHERE:
		q->desc = ~0ULL - 15;
		break;
	default:
		break;
	}
}

int start(struct target *t, enum how how)
{
	struct shimos_virtio_start *m = ikc_alloc(sizeof(*m));
	unsigned int n;

	if (!m)
		return -ENOMEM;
	memset(t->mem, 0, RINGS + SHIMOS_VIRTIO_BELLS * 3 * RING_BYTES);
	memset(t->made, 0, sizeof(t->made));
	memset(t->seen, 0, sizeof(t->seen));
	*m = (struct shimos_virtio_start){
		.version = SHIMOS_VIRTIO_VERSION,
		.size = sizeof(*m),
		.features = t->desc.features,
		.state = t->phys,
		.queues = t->desc.queues,
	};
	for (n = 0; n < t->desc.queues; n++) {
		u64 ring = t->phys + RINGS + n * RING_BYTES;

		m->queue[n] = (struct shimos_virtio_queue){
			ring, ring + AVAIL, ring + USED, t->desc.ring,
		};
	}
	spoil_start(m, how);
	if (how == NO_BLOCK) {
		ikc_free(m);
		return ask(t, SHIMOS_VIRTIO_START, NULL, 0);
	}
	return ask(t, SHIMOS_VIRTIO_START, m, how == SHORT ? sizeof(*m) - 1 : sizeof(*m));
}

/* ---- /proc/hostile ---- */

static int show(struct seq_file *file, void *unused)
{
	struct target *t;

	seq_printf(file, "used %d\nstatus %u\ntries %llu\nrestarts %llu\ncompletions %llu\nremovals %llu\n",
		   used, status, tries, restarts, completions, removals);
	for (t = targets; t < targets + TARGETS; t++)
		if (t->id)
			seq_printf(file, "device.%u %u\nqueues.%u %u\nunanswered.%u %u\n", t->id,
				   t->desc.type, t->id, t->desc.queues, t->id,
				   t->asked - t->answered);
	return 0;
}

static int run(const char *line)
{
	unsigned int id, a, b;
	char word[20];
	struct target *t;
	u64 number;
	int i;

	if (sscanf(line, "victim %llx", &number) == 1) {
		victim = number;
		return 0;
	}
	if (sscanf(line, "mute %u", &a) == 1) {
		mute = a;
		return 0;
	}
	if (!strncmp(line, "enough", 6)) {
		WRITE_ONCE(enough, true);
		return 0;
	}
	WRITE_ONCE(enough, false);
	if (sscanf(line, "packets %u %u", &a, &b) == 2)
		return random_packets(a, b);
	if (sscanf(line, "%19s %u", word, &id) != 2)
		return -EINVAL;
	t = find(id);
	if (!t)
		return -ENODEV;
	used = false;
	status = 0xee;
	if (!strcmp(word, "reset"))
		return ask(t, SHIMOS_VIRTIO_RESET, NULL, 0);
	if (!strcmp(word, "good"))
		return good(t);
	if (sscanf(line, "fuzz %*u %u %u", &a, &b) == 2)
		return fuzz(t, a, b);
	if (sscanf(line, "endless %*u %u %u", &a, &b) == 2)
		return endless(t, a, b);
	if (sscanf(line, "storm %*u %u", &a) == 1)
		return storm(t, a);
	if (sscanf(line, "attack %*u %19s", word) == 1)
		return attack(t, word);
	i = RIGHT;
	if (sscanf(line, "start %*u %19s", word) == 1)
		i = match_string(hows, HOWS, word);
	return i < 0 ? i : start(t, i);
}

static int __init hostile_init(void)
{
	int ret = ikc_queue_open(SHIMOS_VIRTIO_USER, 64, &ops, NULL);

	BUILD_BUG_ON(DATA_END > PAGE_SIZE << ORDER);
	if (!ret)
		proc_create("hostile", 0600, NULL, &command_proc_ops);
	return ret;
}

/* The devices' memory is not given back: an owner that can be fooled may still write. */
static void __exit hostile_exit(void)
{
	remove_proc_entry("hostile", NULL);
	ikc_queue_close(SHIMOS_VIRTIO_USER);
	cancel_work_sync(&hear_work);
}

module_init(hostile_init);
module_exit(hostile_exit);
MODULE_DESCRIPTION("SHIMOS tests: a user of shared devices that lies");
MODULE_LICENSE("GPL");
