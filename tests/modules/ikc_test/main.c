// SPDX-License-Identifier: GPL-2.0
/*
 * Traffic between kernels for the tests of IKC, and the API used wrongly.
 *
 * Loaded in every kernel that takes part; /proc/ikc_test takes commands and gives
 * results as "name value" lines:
 *
 *	send KERNEL COUNT KIND [PACE]
 *				start a thread that sends; KIND: plain, shared, page;
 *				PACE: so many packets per tick at most
 *	stop			end all senders
 *	sent			wait until all senders have sent everything
 *	until KERNEL COUNT	wait until so many packets in order have come
 *	deaf			read nothing any more
 *	misuse KERNEL		call the API wrongly; results say what it returned
 *	spoil KERNEL		send that kernel a page that is not this one's
 *	scribble KERNEL		random bytes over the ring to that kernel's queue
 *	wreck			random bytes over all that is shared
 *	version NUMBER		change the version that the area says it has
 *	hoard COUNT SIZE	allocate blocks and keep them
 *
 * What arrives is checked: packets of one sender come in order, each once, with
 * the data that belongs to it.
 */
#include <linux/io.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "../command.h"
#include "ikc_test.h"

#define BATCH		8
#define BLOCK		512
#define MAX_PAGES	16	/* on their way at once */
#define HOARD		4096

static const char *const kinds[] = { "plain", "shared", "page" };

struct sender {
	struct task_struct *thread;
	unsigned int kernel;
	u64 count, sent, waits, start_ns, end_ns;
	enum kind kind;
	u32 pace;
	int error;
	atomic_t pages;		/* not acknowledged yet */
};

static struct sender senders[IKC_MAX_KERNELS];
static struct {
	u64 next, packets, wrong, data_wrong, first_ns, last_ns;
} from[IKC_MAX_KERNELS];	/* the receiver thread's */

static struct task_struct *receiver;
static DECLARE_WAIT_QUEUE_HEAD(queue_wait);
static DECLARE_WAIT_QUEUE_HEAD(progress_wait);
static atomic_t rings;
static bool deaf;
static void *hoard[HOARD];
static unsigned int hoarded;

static void notify(void *context, unsigned int kernel)
{
	ikc_free(ikc_alloc(BLOCK));	/* in interrupt context, beside the threads */
	atomic_inc(&rings);
	wake_up_all(&queue_wait);
}

static void peer(void *context, unsigned int kernel, bool up)
{
	pr_info("ikc_test: kernel %u is %s\n", kernel, up ? "up" : "gone");
	/* who waits for its room waits for nothing */
	if (!up)
		wake_up_all(&queue_wait);
}

const struct ikc_queue_ops queue_ops = {
	.notify	= notify,
	.peer	= peer,
};

static u32 pattern(u64 number, u32 at)
{
	return (u32)(number * 2654435761U + at * 40503U);
}

static void fill(u32 *data, u32 bytes, u64 number)
{
	u32 i;

	for (i = 0; i < bytes / 4; i++)
		data[i] = pattern(number, i);
}

static bool is_filled(const u32 *data, u32 bytes, u64 number)
{
	u32 i;

	for (i = 0; i < bytes / 4; i++)
		if (data[i] != pattern(number, i))
			return false;
	return true;
}

static u64 number_of(const struct ikc_packet *pkt)
{
	return pkt->param[0] | (u64)pkt->param[1] << 32;
}

/* ---- receiving ---- */

static void take_page(const struct ikc_packet *pkt, u64 number)
{
	struct ikc_packet done = { .cmd = PAGE_DONE, .data = pkt->data };
	void *page = ikc_map(pkt->sender, pkt->data, pkt->size);

	if (!page || !is_filled(page, pkt->size, number))
		from[pkt->sender].data_wrong++;
	if (page)
		ikc_unmap(page);
	while (ikc_write(&done, pkt->sender, QUEUE) == -EAGAIN)
		cond_resched();
	ikc_notify(pkt->sender, QUEUE);
}

static void take(const struct ikc_packet *pkt)
{
	u64 number = number_of(pkt);
	void *block;

	if (pkt->cmd == PAGE_DONE) {
		__free_page(pfn_to_page(PHYS_PFN(pkt->data)));
		atomic_dec(&senders[pkt->sender].pages);
		wake_up_all(&queue_wait);
		return;
	}
	if (pkt->cmd == START) {
		from[pkt->sender].next = 0;
		from[pkt->sender].first_ns = ktime_get_ns();
		return;
	}
	if (number != from[pkt->sender].next)
		from[pkt->sender].wrong++;
	from[pkt->sender].next = number + 1;
	from[pkt->sender].packets++;
	from[pkt->sender].last_ns = ktime_get_ns();
	if (pkt->param[5] != pattern(number, 5))
		from[pkt->sender].data_wrong++;
	if (pkt->cmd == SHARED) {
		block = ikc_pointer(pkt->data);
		if (!is_filled(block, pkt->size, number))
			from[pkt->sender].data_wrong++;
		ikc_free(block);
	} else if (pkt->cmd == PAGE) {
		take_page(pkt, number);
	}
}

static int receive_main(void *unused)
{
	struct ikc_packet pkt;
	int seen;

	while (!kthread_should_stop()) {
		seen = atomic_read(&rings);
		while (!READ_ONCE(deaf) && !ikc_read(&pkt, QUEUE)) {
			take(&pkt);
			cond_resched();
		}
		wake_up_all(&progress_wait);
		if (READ_ONCE(deaf) || ikc_queue_arm(QUEUE))
			wait_event_idle(queue_wait, atomic_read(&rings) != seen ||
					kthread_should_stop());
	}
	return 0;
}

/* ---- sending ---- */

static int make(struct sender *s, struct ikc_packet *pkt)
{
	struct page *page;
	void *block;

	*pkt = (struct ikc_packet){ .cmd = s->kind };
	pkt->param[0] = (u32)s->sent;
	pkt->param[1] = s->sent >> 32;
	pkt->param[5] = pattern(s->sent, 5);
	if (s->kind == SHARED) {
		block = ikc_alloc(BLOCK);
		if (!block)
			return -ENOMEM;
		fill(block, BLOCK, s->sent);
		pkt->data = ikc_offset(block);
		pkt->size = BLOCK;
		pkt->flags = IKC_DATA_SHARED;
	} else if (s->kind == PAGE) {
		wait_event_idle(queue_wait, atomic_read(&s->pages) < MAX_PAGES ||
				!ikc_kernel_ready(s->kernel) || kthread_should_stop());
		page = alloc_page(GFP_KERNEL);
		if (!page)
			return -ENOMEM;
		fill(page_address(page), PAGE_SIZE, s->sent);
		pkt->data = page_to_phys(page);
		pkt->size = PAGE_SIZE;
		pkt->flags = IKC_DATA_PAGE;
	}
	return 0;
}

/* Put it back; it was not sent. */
static void unmake(struct sender *s, const struct ikc_packet *pkt)
{
	if (s->kind == SHARED)
		ikc_free(ikc_pointer(pkt->data));
	else if (s->kind == PAGE)
		__free_page(pfn_to_page(PHYS_PFN(pkt->data)));
}

/* Send one packet, waiting for room; 0 or what ended it. */
static int send(struct sender *s, const struct ikc_packet *pkt)
{
	int ret, seen;

	for (;;) {
		seen = atomic_read(&rings);
		ret = ikc_write(pkt, s->kernel, QUEUE);
		if (ret != -EAGAIN)
			return ret;
		ikc_notify(s->kernel, QUEUE);
		if (!ikc_wait_for_room_in(s->kernel, QUEUE))
			continue;
		s->waits++;
		/* a dead peer never rings: the news of its death does */
		wait_event_idle(queue_wait, atomic_read(&rings) != seen ||
				!ikc_kernel_ready(s->kernel) || kthread_should_stop());
		if (kthread_should_stop())
			return -EINTR;
	}
}

static int send_main(void *data)
{
	struct ikc_packet pkt = { .cmd = START };
	struct sender *s = data;

	/* a peer that is just coming up may not read yet; a dead one never will */
	if (ikc_kernel_ready(s->kernel))
		ikc_queue_wait(s->kernel, QUEUE, 20000);
	s->start_ns = ktime_get_ns();
	s->error = send(s, &pkt);
	while (!s->error && s->sent < s->count && !kthread_should_stop()) {
		s->error = make(s, &pkt);
		if (s->error == -ENOMEM) {
			s->error = 0;	/* the host adds some */
			ikc_notify(s->kernel, QUEUE);
			schedule_timeout_idle(1);
			continue;
		}
		s->error = send(s, &pkt);
		if (s->error) {
			unmake(s, &pkt);
			break;
		}
		if (s->kind == PAGE)
			atomic_inc(&s->pages);
		if (++s->sent % BATCH == 0)
			ikc_notify(s->kernel, QUEUE);
		if (s->pace && s->sent % s->pace == 0)
			schedule_timeout_idle(1);
		cond_resched();
	}
	ikc_notify(s->kernel, QUEUE);
	WRITE_ONCE(s->end_ns, ktime_get_ns());
	wake_up_all(&progress_wait);
	while (!kthread_should_stop())
		schedule_timeout_idle(HZ / 10);
	return 0;
}

static void stop_sender(struct sender *s)
{
	if (s->thread)
		kthread_stop(s->thread);
	s->thread = NULL;
}

static int start_sender(unsigned int kernel, u64 count, enum kind kind, u32 pace)
{
	struct sender *s = &senders[kernel];

	stop_sender(s);
	*s = (struct sender){ .kernel = kernel, .count = count, .kind = kind, .pace = pace };
	s->thread = kthread_run(send_main, s, "ikc-send-%u", kernel);
	if (IS_ERR(s->thread)) {
		s->thread = NULL;
		return -ENOMEM;
	}
	return 0;
}

static bool all_sent(void)
{
	int i;

	for (i = 0; i < IKC_MAX_KERNELS; i++)
		if (senders[i].thread && !READ_ONCE(senders[i].end_ns))
			return false;
	return true;
}

static int wait_for_progress(unsigned int kernel, u64 count)
{
	long left = wait_event_interruptible_timeout(progress_wait,
						     count ? READ_ONCE(from[kernel].next) >= count :
						     all_sent(), 240 * HZ);

	return left < 0 ? -EINTR : left ? 0 : -ETIME;
}

/* ---- hoarding ---- */

static int do_hoard(u64 count, u32 size)
{
	u64 until = get_jiffies_64() + 60 * HZ;

	for (; count && hoarded < HOARD; count--) {
		while (!(hoard[hoarded] = ikc_alloc(size))) {
			if (time_after64(get_jiffies_64(), until))
				return -ENOMEM;
			schedule_timeout_idle(1);	/* the host adds some */
		}
		hoarded++;
	}
	return 0;
}

/* ---- /proc/ikc_test ---- */

static int show(struct seq_file *file, void *unused)
{
	unsigned int k;

	seq_printf(file, "self %d\nhoarded %u\n", ikc_self_number(), hoarded);
	for (k = 0; k < IKC_MAX_KERNELS; k++) {
		if (ikc_kernel_ready(k))
			seq_printf(file, "ready.%u 1\n", k);
		if (senders[k].count)
			seq_printf(file, "sent.%u %llu\nerror.%u %d\nwaits.%u %llu\nsend_ns.%u %llu\npages.%u %d\n",
				   k, senders[k].sent, k, senders[k].error, k,
				   senders[k].waits, k,
				   senders[k].end_ns - senders[k].start_ns, k,
				   atomic_read(&senders[k].pages));
		if (from[k].packets)
			seq_printf(file, "received.%u %llu\nnext.%u %llu\nwrong.%u %llu\ndata_wrong.%u %llu\nreceive_ns.%u %llu\n",
				   k, from[k].packets, k, from[k].next, k, from[k].wrong,
				   k, from[k].data_wrong, k,
				   from[k].last_ns - from[k].first_ns);
	}
	seq_puts(file, misuse_results);
	return 0;
}

static int run(const char *line)
{
	unsigned int kernel, size, pace = 0;
	char kind[16];
	u64 count;
	int i;

	if (sscanf(line, "send %u %llu %15s %u", &kernel, &count, kind, &pace) >= 3 &&
	    kernel < IKC_MAX_KERNELS) {
		i = match_string(kinds, ARRAY_SIZE(kinds), kind);
		return i < 0 ? i : start_sender(kernel, count, i, pace);
	}
	if (sscanf(line, "until %u %llu", &kernel, &count) == 2 &&
	    kernel < IKC_MAX_KERNELS && count)
		return wait_for_progress(kernel, count);
	if (!strncmp(line, "deaf", 4)) {
		WRITE_ONCE(deaf, true);
		return 0;
	}
	if (!strncmp(line, "sent", 4))
		return wait_for_progress(0, 0);
	if (sscanf(line, "misuse %u", &kernel) == 1) {
		misuse(kernel);
		return 0;
	}
	if (sscanf(line, "spoil %u", &kernel) == 1) {
		misuse_spoil(kernel);
		return 0;
	}
	if (sscanf(line, "scribble %u", &kernel) == 1) {
		misuse_scribble(kernel);
		return 0;
	}
	if (sscanf(line, "version %u", &kernel) == 1) {
		misuse_version(kernel);
		return 0;
	}
	if (sscanf(line, "bells %u %u", &kernel, &size) == 2) {
		misuse_bells(kernel, size);
		return 0;
	}
	if (!strncmp(line, "wreck", 5)) {
		misuse_wreck();
		return 0;
	}
	if (sscanf(line, "hoard %llu %u", &count, &size) == 2)
		return do_hoard(count, size);
	if (!strncmp(line, "stop", 4)) {
		for (i = 0; i < IKC_MAX_KERNELS; i++)
			stop_sender(&senders[i]);
		return 0;
	}
	return -EINVAL;
}

static int __init test_init(void)
{
	int ret = ikc_queue_open(QUEUE, SLOTS, &queue_ops, NULL);

	if (ret)
		return ret;
	receiver = kthread_run(receive_main, NULL, "ikc-receive");
	if (IS_ERR(receiver)) {
		ikc_queue_close(QUEUE);
		return PTR_ERR(receiver);
	}
	proc_create("ikc_test", 0600, NULL, &command_proc_ops);
	return 0;
}

static void __exit test_exit(void)
{
	remove_proc_entry("ikc_test", NULL);
	run("stop");
	kthread_stop(receiver);
	ikc_queue_close(QUEUE);
	while (hoarded)
		ikc_free(hoard[--hoarded]);
}

module_init(test_init);
module_exit(test_exit);
MODULE_DESCRIPTION("SHIMOS tests: traffic between kernels");
MODULE_LICENSE("GPL");
