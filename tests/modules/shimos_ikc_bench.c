// SPDX-License-Identifier: GPL-2.0
/*
 * What IKC costs, measured in the kernel; for bench/ikc.
 *
 * Loaded in both kernels.  /proc/ikc_bench takes one command at a time and gives
 * the results of the last as "name value" lines, times in nanoseconds:
 *
 *	bell KERNEL COUNT	round trips, doorbell both ways, handled in the interrupt
 *	ring KERNEL COUNT	what ikc_write and an ikc_notify that rings take by themselves
 *	poll KERNEL COUNT	round trips, both sides polling
 *	serve MS		poll POLL_QUEUE and send back, for so long or until a signal
 *	call KERNEL COUNT	what ikc_write, ikc_notify take by themselves
 *	read			what ikc_read takes: empties CALL_QUEUE
 *	ipi CPU COUNT		smp_call_function_single() and back, in this kernel
 */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/smp.h>
#include <linux/sort.h>
#include <linux/vmalloc.h>
#include <shimos/ikc.h>

#include "command.h"

enum { BELL_QUEUE = 2, POLL_QUEUE, CALL_QUEUE };
enum { PING, PONG };

#define SLOTS		200
#define MAX_SAMPLES	100000
#define POLL_NS		(10 * NSEC_PER_SEC)	/* a lost packet shall not hang */

static u32 *samples;
static u32 wanted, done;
static u64 began;
static struct completion finished;
static char results[512];

/* ---- doorbell round trips, in interrupt context ---- */

static void send(unsigned int kernel, unsigned int queue, u16 cmd)
{
	struct ikc_packet pkt = { .cmd = cmd };

	ikc_write(&pkt, kernel, queue);
	ikc_notify(kernel, queue);
}

static void next_ping(unsigned int kernel)
{
	began = ktime_get_ns();
	send(kernel, BELL_QUEUE, PING);
}

static void got_pong(unsigned int kernel)
{
	if (done < wanted)
		samples[done++] = ktime_get_ns() - began;
	if (done < wanted)
		next_ping(kernel);
	else
		complete(&finished);
}

static void bell_rang(void *context, unsigned int kernel)
{
	struct ikc_packet pkt;

	do {
		while (!ikc_read(&pkt, BELL_QUEUE)) {
			if (pkt.cmd == PING)
				send(pkt.sender, BELL_QUEUE, PONG);
			else
				got_pong(pkt.sender);
		}
	} while (!ikc_queue_arm(BELL_QUEUE));
}

static void ignore(void *context, unsigned int kernel)
{
}

static const struct ikc_queue_ops bell_ops = { .notify = bell_rang };
static const struct ikc_queue_ops quiet_ops = { .notify = ignore };

/* ---- results ---- */

static int by_value(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

static void report(u32 count)
{
	if (!count)
		return;
	sort(samples, count, sizeof(*samples), by_value, NULL);
	scnprintf(results, sizeof(results), "count %u\nmin %u\nmedian %u\np90 %u\np99 %u\nmax %u\n",
		  count, samples[0], samples[count / 2], samples[count * 9ULL / 10],
		  samples[count * 99ULL / 100], samples[count - 1]);
}

static int bell(unsigned int kernel, u32 count)
{
	done = 0;
	wanted = count;
	reinit_completion(&finished);
	next_ping(kernel);
	if (!wait_for_completion_timeout(&finished, 60 * HZ))
		return -ETIME;
	report(count);
	return 0;
}

/* Of the round trip only its beginning: an answer to each one comes before the next. */
static int ring(unsigned int kernel, u32 count)
{
	u64 start;
	u32 i;

	wanted = 0;
	for (i = 0; i < count; i++) {
		reinit_completion(&finished);
		start = ktime_get_ns();
		send(kernel, BELL_QUEUE, PING);
		samples[i] = ktime_get_ns() - start;
		if (!wait_for_completion_timeout(&finished, 60 * HZ))
			return -ETIME;
	}
	report(count);
	return 0;
}

/* ---- polling round trips ---- */

static int poll_packet(struct ikc_packet *pkt, u64 until)
{
	int ret;

	do {
		ret = ikc_read(pkt, POLL_QUEUE);
	} while (ret == -EAGAIN && ktime_get_ns() < until);
	return ret;
}

static int poll(unsigned int kernel, u32 count)
{
	struct ikc_packet pkt = { .cmd = PING };
	u32 i;
	int ret;

	for (i = 0; i < count; i++) {
		began = ktime_get_ns();
		ret = ikc_write(&pkt, kernel, POLL_QUEUE) ?:
		      poll_packet(&pkt, began + POLL_NS);
		if (ret)
			return ret;
		samples[i] = ktime_get_ns() - began;
		cond_resched();
	}
	report(count);
	return 0;
}

static int serve(u32 ms)
{
	u64 until = ktime_get_ns() + ms * NSEC_PER_MSEC;
	struct ikc_packet pkt;
	u32 count = 0;

	while (ktime_get_ns() < until && !signal_pending(current)) {
		if (!ikc_read(&pkt, POLL_QUEUE)) {
			ikc_write(&pkt, pkt.sender, POLL_QUEUE);
			count++;
		}
		cond_resched();
	}
	scnprintf(results, sizeof(results), "served %u\n", count);
	return 0;
}

/* ---- the calls by themselves ---- */

static int call(unsigned int kernel, u32 count)
{
	struct ikc_packet pkt = { .cmd = PING };
	u64 start, written, notified;
	u32 i;
	int ret = 0;

	count = min_t(u32, count, SLOTS / 2);
	/* attached, and the first wish for the doorbell granted */
	ikc_write(&pkt, kernel, CALL_QUEUE);
	ikc_notify(kernel, CALL_QUEUE);
	start = ktime_get_ns();
	for (i = 0; i < count && !ret; i++)
		ret = ikc_write(&pkt, kernel, CALL_QUEUE);
	written = ktime_get_ns();
	for (i = 0; i < count && !ret; i++) {
		ret = ikc_write(&pkt, kernel, CALL_QUEUE);
		ikc_notify(kernel, CALL_QUEUE);
	}
	notified = ktime_get_ns();
	scnprintf(results, sizeof(results), "count %u\nwrite %llu\nwrite_notify %llu\n",
		  count, (written - start) / count, (notified - written) / count);
	return ret;
}

static int call_read(void)
{
	struct ikc_packet pkt;
	u64 start = ktime_get_ns();
	u32 count = 0;

	while (!ikc_read(&pkt, CALL_QUEUE))
		count++;
	if (!count)
		return -EAGAIN;
	scnprintf(results, sizeof(results), "count %u\nread %llu\n", count,
		  (ktime_get_ns() - start) / count);
	return 0;
}

static void nothing(void *unused)
{
}

static int ipi(unsigned int cpu, u32 count)
{
	u64 start;
	u32 i;
	int ret;

	for (i = 0; i < count; i++) {
		start = ktime_get_ns();
		ret = smp_call_function_single(cpu, nothing, NULL, 1);
		if (ret)
			return ret;
		samples[i] = ktime_get_ns() - start;
	}
	report(count);
	return 0;
}

/* ---- /proc/ikc_bench ---- */

static int run(const char *line)
{
	u32 who = 0, count = 0;
	char what[16];

	results[0] = '\0';
	if (sscanf(line, "%15s %u %u", what, &who, &count) < 1 || count > MAX_SAMPLES)
		return -EINVAL;
	if (!strcmp(what, "serve"))
		return serve(who);
	if (!strcmp(what, "read"))
		return call_read();
	if (!count)
		return -EINVAL;
	if (!strcmp(what, "bell"))
		return bell(who, count);
	if (!strcmp(what, "ring"))
		return ring(who, count);
	if (!strcmp(what, "poll"))
		return poll(who, count);
	if (!strcmp(what, "call"))
		return call(who, count);
	if (!strcmp(what, "ipi"))
		return ipi(who, count);
	return -EINVAL;
}

static int show(struct seq_file *file, void *unused)
{
	seq_puts(file, results);
	return 0;
}

static int __init bench_init(void)
{
	int ret;

	init_completion(&finished);
	samples = vzalloc(MAX_SAMPLES * sizeof(*samples));
	if (!samples)
		return -ENOMEM;
	ret = ikc_queue_open(BELL_QUEUE, SLOTS, &bell_ops, NULL);
	if (ret)
		goto free;
	ret = ikc_queue_open(POLL_QUEUE, SLOTS, &quiet_ops, NULL);
	if (ret)
		goto close_bell;
	ret = ikc_queue_open(CALL_QUEUE, SLOTS, &quiet_ops, NULL);
	if (ret)
		goto close_poll;
	proc_create("ikc_bench", 0600, NULL, &command_proc_ops);
	return 0;

close_poll:
	ikc_queue_close(POLL_QUEUE);
close_bell:
	ikc_queue_close(BELL_QUEUE);
free:
	vfree(samples);
	return ret;
}

static void __exit bench_exit(void)
{
	remove_proc_entry("ikc_bench", NULL);
	ikc_queue_close(CALL_QUEUE);
	ikc_queue_close(POLL_QUEUE);
	ikc_queue_close(BELL_QUEUE);
	vfree(samples);
}

module_init(bench_init);
module_exit(bench_exit);
MODULE_DESCRIPTION("SHIMOS benchmarks: what IKC costs");
MODULE_LICENSE("GPL");
