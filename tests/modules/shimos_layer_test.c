// SPDX-License-Identifier: GPL-2.0
/*
 * Puts SPUMONE's layer under CPUs, and counts on both sides.  /proc/layer takes
 *
 *	launch CPU | leave CPU
 *	mask CPU MICROSECONDS TIMES	keep interrupts off, again and again
 *	exit CPU MICROSECONDS TIMES	the same, with an exit to the layer in the middle
 *	fault CPU MICROSECONDS TIMES	or with a fault, and so an IRET, in the middle
 *	rt CPU MEMORY FILE		an RTOS beside Linux, which may have the CPU for
 *	   [BUDGET PERIOD]		so many microseconds of each so many
 *	ask CPU				it shall end
 *	stop CPU			it is gone
 *	move CPU OTHER TIMES		it goes to the other CPU and comes back, so many times
 *	visit CPU CORE			that CPU of Linux's is on another one's core; on its own: home
 *	protect | unprotect		an RTOS that starts between them is hidden from Linux
 *	wild TIMES			write to what is hidden, anywhere; fails if one arrives
 *	stray				the same once, and expect nothing
 *	flip ADDRESS BIT		one bit of memory changes, whoever's it is, and the kernel's
 *					log says when
 *
 * and shows a line for each CPU: what the layer counted, and for some vectors what it
 * gave to Linux and what Linux says it took, both since the machine's start; then
 * what is hidden, a line a range; then the end of what the CPU's RTOS has written to its
 * console.
 *
 * /proc/layer_memory maps the first page of what is hidden into a program.
 */
#include <linux/delay.h>
#include <linux/hardirq.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/kernel_read_file.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/smp.h>
#include <linux/percpu.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include <asm/asm.h>
#include <asm/irq_vectors.h>
#include <shimos/compat_x86.h>
#include <shimos/complaint.h>
#include <shimos/spumone.h>
#include <shimos/layer_abi.h>
#include <uapi/shimos.h>
#include <uapi/shimos_shared.h>
#include <uapi/shimos_rt.h>

#include "command.h"

enum { LOC, RES, CAL, IWI, KINDS };

static const char * const kinds[KINDS] = { "LOC", "RES", "CAL", "IWI" };

struct sample {
	bool under;
	struct layer_shared shared;
	u32 given[KINDS], taken[KINDS];
};

/* An RTOS's memory. */
struct program {
	void *memory;
	u64 size;
	int number;
};

/* What is hidden. */
struct hole {
	u64 start, size;
};

struct holes {
	unsigned int count;
	struct hole hole[512];
};

/* What a wild write leaves in its upper half, so that it is found where it arrives. */
#define WILD	0x57494c44ULL

static bool protecting;		/* a command at a time sets it */
static struct sample sample;	/* of the CPU that is shown; the file's lock guards it */
static DEFINE_PER_CPU(struct program, programs);	/* the same lock */

/* On the CPU, interrupts off. */
static void take_sample(void *unused)
{
	const irq_cpustat_t *stat = this_cpu_ptr(&irq_stat);
	const struct layer_shared *shared = spumone_look();

	sample.under = shared;
	if (!shared)
		return;
	sample.shared = *shared;
	sample.given[LOC] = shared->counts.given[LOCAL_TIMER_VECTOR];
	sample.given[RES] = shared->counts.given[RESCHEDULE_VECTOR];
	sample.given[CAL] = shared->counts.given[CALL_FUNCTION_VECTOR] +
			    shared->counts.given[CALL_FUNCTION_SINGLE_VECTOR];
	sample.given[IWI] = shared->counts.given[IRQ_WORK_VECTOR];
	sample.taken[LOC] = stat->COMPAT_COUNT_TIMER;
	sample.taken[RES] = stat->COMPAT_COUNT_RESCHEDULE;
	sample.taken[CAL] = stat->COMPAT_COUNT_CALL_FUNCTION;
	sample.taken[IWI] = stat->COMPAT_COUNT_IRQ_WORK;
}

static struct shimos_shared *shared_of(const struct program *p)
{
	return p->memory + p->size - SHIMOS_SHARED_SIZE;
}

/* What its console says, as far as it is still there. */
static void show_console(struct seq_file *file, const struct program *p)
{
	const struct shimos_console_out *out;
	u64 at, head;

	if (!p->memory)
		return;
	out = (void *)shared_of(p) + SHIMOS_CONSOLE_OUT;
	head = READ_ONCE(out->head);
	at = head > sizeof(out->data) ? head - sizeof(out->data) : 0;
	for (; at < head; at++)
		seq_putc(file, out->data[at % sizeof(out->data)]);
}

static void show_rt(struct seq_file *file, const struct program *p)
{
	static const struct layer_late none;
	const struct layer_late *late = p->memory ? spumone_rt_late(p->number) : &none;
	struct layer_rt rt = { 0 };

	if (p->memory)
		spumone_rt_state(p->number, &rt);
	seq_printf(file, " rt=%llu ready=%llu why=%llu at=%llu info=%llu entered=%llu rt_masked=%llu rt_exits=%llu timers=%llu past=%llu cycles=%llu throttled=%llu moves=%llu moved_last=%llu moved_max=%llu",
		   rt.state, rt.ready, rt.why, rt.at, rt.info, rt.entered, rt.masked,
		   rt.exits, rt.timers, rt.past, rt.cycles, rt.throttled, rt.moves,
		   rt.moved_last, rt.moved_max);
	seq_printf(file, " lates=%llu late_least=%llu late_most=%llu", late->count, late->min,
		   late->max);
}

static int show_hidden(void *file, u64 start, u64 size)
{
	seq_printf(file, "hidden=%llu size=%llu\n", start, size);
	return 0;
}

static int show(struct seq_file *file, void *unused)
{
	const struct layer_counts *c = &sample.shared.counts;
	unsigned int cpu, i;

	for_each_online_cpu(cpu) {
		smp_call_function_single(cpu, take_sample, NULL, 1);
		seq_printf(file, "cpu=%u under=%d", cpu, sample.under);
		if (sample.under) {
			seq_printf(file, " exits=%llu interrupts=%llu masked=%llu nmis=%llu calls=%llu given_back=%llu interrupted=%llu merged=%llu set_aside=%llu armed=%llu fired=%llu ticks=%llu late_max=%llu faults=%llu died=%llu",
				   c->exits, c->interrupts, c->masked, c->nmis, c->calls,
				   c->given_back, c->interrupted, c->merged, c->set_aside, c->armed,
				   c->fired, c->ticks, c->late_max, c->faults, sample.shared.died);
			show_rt(file, per_cpu_ptr(&programs, cpu));
			for (i = 0; i < KINDS; i++)
				seq_printf(file, " %s_given=%u %s_taken=%u", kinds[i],
					   sample.given[i], kinds[i], sample.taken[i]);
		}
		seq_putc(file, '\n');
	}
	spumone_hidden(show_hidden, file);
	for_each_online_cpu(cpu)
		show_console(file, per_cpu_ptr(&programs, cpu));
	return 0;
}

struct mask {
	unsigned int microseconds, times;
	bool exits, faults;
};

/* Not udelay(): it overflows, and looks at the clock in each round, at which emulators are slow. */
static void mask_spin(unsigned int microseconds)
{
	u64 end = rdtsc_ordered() + (u64)microseconds * tsc_khz / MSEC_PER_SEC;
	unsigned int i;

	while ((s64)(rdtsc_ordered() - end) < 0)
		for (i = 0; i < 1000; i++)
			barrier();
}

/* The last page of all is never there. */
#define MASK_NOWHERE	((u64 *)-PAGE_SIZE)

static long mask(void *arg)
{
	const struct mask *m = arg;
	unsigned int i;
	u64 nothing;

	for (i = 0; i < m->times; i++) {
		local_irq_disable();
		mask_spin(m->microseconds);
		if (m->exits)
			spumone_look();
		if (m->faults)
			get_kernel_nofault(nothing, MASK_NOWHERE);
		if (m->exits || m->faults)
			mask_spin(m->microseconds);
		local_irq_enable();
		usleep_range(300, 350);
	}
	return 0;
}

static void forget(struct program *p)
{
	if (!p->memory)
		return;
	spumone_rt_stop(p->number);
	spumone_rt_free(p->number);
	free_pages_exact(p->memory, p->size);
	p->memory = NULL;
}

/* What is asked for. */
struct wish {
	struct spumone_rt rt;
	struct spumone_share share;
};

static int start(unsigned int cpu, const struct wish *w, struct complaint *c)
{
	struct program p = { w->rt.memory, w->rt.size };
	struct shimos_shared *shared = shared_of(&p);
	int ret;

	if (per_cpu_ptr(&programs, cpu)->memory)
		return -EBUSY;
	shared->magic = SHIMOS_SHARED_MAGIC;
	shared->version = SHIMOS_SHARED_VERSION;
	shared->size = SHIMOS_SHARED_SIZE;
	p.number = spumone_rt_new(cpu, &w->share, c);
	if (p.number < 0)
		return p.number;
	ret = spumone_rt_start(p.number, &w->rt, c);
	if (ret)
		spumone_rt_free(p.number);
	else
		*per_cpu_ptr(&programs, cpu) = p;
	return ret;
}

static int run_rt(unsigned int cpu, struct wish *w, const char *path, struct complaint *c)
{
	struct spumone_rt *rt = &w->rt;
	ssize_t len = kernel_read_file_from_path(path, 0, (void **)&rt->image, INT_MAX, NULL,
						 READING_FIRMWARE);
	int ret;

	if (len < 0)
		return len;
	rt->len = len;
	ret = spumone_rt_check(rt->image, len, rt->size, c);
	if (!ret) {
		rt->memory = alloc_pages_exact(rt->size, GFP_KERNEL | __GFP_ZERO);
		ret = rt->memory ? start(cpu, w, c) : -ENOMEM;
		if (ret && rt->memory)
			free_pages_exact(rt->memory, rt->size);
	}
	vfree(rt->image);
	return ret;
}

static int remember(void *to, u64 start, u64 size)
{
	struct holes *r = to;

	if (r->count == ARRAY_SIZE(r->hole))
		return -ENOSPC;
	r->hole[r->count++] = (struct hole){ start, size };
	return 0;
}

/* Does it fault?  If not, it has arrived. */
static bool wild_write(u64 *to, u64 value)
{
	unsigned int faulted = 1;

	asm volatile("1: movq %2, %1\n\t"
		     "xorl %0, %0\n"
		     "2:\n"
		     _ASM_EXTABLE(1b, 2b)
		     : "+r"(faulted), "=m"(*to) : "r"(value));
	return faulted;
}

static u64 *wild_place(const struct holes *r)
{
	const struct hole *hole = &r->hole[get_random_u32() % r->count];

	return phys_to_virt(hole->start + get_random_u32() % hole->size / 8 * 8);
}

static int wild_in(const struct holes *r, void *times)
{
	unsigned int i;

	for (i = 0; i < *(unsigned int *)times; i++) {
		if (!wild_write(wild_place(r), WILD << 32 | i))
			return -EIO;
		cond_resched();
	}
	return 0;
}

static int with_hidden(int (*what)(const struct holes *r, void *arg), void *arg)
{
	struct holes *r = vzalloc(sizeof(*r));
	int ret;

	if (!r)
		return -ENOMEM;
	ret = spumone_hidden(remember, r);
	if (!ret)
		ret = r->count ? what(r, arg) : -ENOENT;
	vfree(r);
	return ret;
}

static int stray(const struct holes *r, void *unused)
{
	WRITE_ONCE(*wild_place(r), WILD << 32);
	return 0;
}

static int flip(u64 address, unsigned int bit)
{
	u8 *byte = phys_to_virt(address);

	if (!pfn_valid(PHYS_PFN(address)) || bit > 7)
		return -EINVAL;
	WRITE_ONCE(*byte, READ_ONCE(*byte) ^ BIT(bit));
	pr_info("layer: flipped\n");
	return 0;
}

static int map_first(const struct holes *r, void *arg)
{
	struct vm_area_struct *vma = arg;

	if (vma->vm_end - vma->vm_start > PAGE_SIZE)
		return -EINVAL;
	return remap_pfn_range(vma, vma->vm_start, PHYS_PFN(r->hole->start), PAGE_SIZE,
			       vma->vm_page_prot);
}

static int map_hidden(struct file *file, struct vm_area_struct *vma)
{
	return with_hidden(map_first, vma);
}

static const struct proc_ops memory_proc_ops = {
	.proc_mmap	= map_hidden,
};

static int protect(struct complaint *c)
{
	int ret = protecting ? -EALREADY : spumone_protect(c);

	protecting |= !ret;
	return ret;
}

static int unprotect(void)
{
	if (!protecting)
		return -ENOENT;
	spumone_unprotect();
	protecting = false;
	return 0;
}

static int stop_rt(unsigned int cpu)
{
	struct program *p = per_cpu_ptr(&programs, cpu);

	if (!p->memory)
		return -ENOENT;
	forget(p);
	return 0;
}

static int ask_rt(unsigned int cpu)
{
	const struct program *p = per_cpu_ptr(&programs, cpu);

	WRITE_ONCE(shared_of(p)->request, SHIMOS_REQUEST_POWEROFF);
	spumone_rt_ring(p->number);
	return 0;
}

/* So many times to the other CPU, and back. */
static int move_rt(unsigned int cpu, unsigned int to, unsigned int times, struct complaint *c)
{
	int number = per_cpu_ptr(&programs, cpu)->number, ret = 0;

	while (!ret && times--)
		ret = spumone_rt_move(number, to, c) ?: spumone_rt_move(number, cpu, c);
	return ret;
}

static int leave(unsigned int cpu)
{
	stop_rt(cpu);
	return spumone_leave(cpu);
}

static int run(const char *line)
{
	struct complaint c = { 0 };
	unsigned int cpu, to, times, budget = 0, period = 0;
	struct wish w = { .share.priority = SHIMOS_RT_DEFAULT_PRIORITY };
	struct mask m = { 0 };
	u64 address;
	char path[48];
	int ret = -EINVAL;

	if (sscanf(line, "launch %u", &cpu) == 1)
		ret = spumone_launch(cpu, &c);
	else if (sscanf(line, "leave %u", &cpu) == 1)
		ret = leave(cpu);
	else if (sscanf(line, "mask %u %u %u", &cpu, &m.microseconds, &m.times) == 3)
		ret = work_on_cpu(cpu, mask, &m);
	else if (sscanf(line, "exit %u %u %u", &cpu, &m.microseconds, &m.times) == 3) {
		m.exits = true;
		ret = work_on_cpu(cpu, mask, &m);
	} else if (sscanf(line, "fault %u %u %u", &cpu, &m.microseconds, &m.times) == 3) {
		m.faults = true;
		ret = work_on_cpu(cpu, mask, &m);
	} else if (sscanf(line, "rt %u %llu %47s %u %u", &cpu, &w.rt.size, path, &budget, &period) >= 3) {
		w.share.budget_ns = (u64)budget * NSEC_PER_USEC;
		w.share.period_ns = (u64)period * NSEC_PER_USEC;
		w.rt.hidden = protecting ? w.rt.size : 0;
		ret = run_rt(cpu, &w, path, &c);
	} else if (sscanf(line, "move %u %u %u", &cpu, &to, &times) == 3)
		ret = move_rt(cpu, to, times, &c);
	else if (sscanf(line, "visit %u %u", &cpu, &to) == 2)
		ret = spumone_host_move(cpu, to, &c);
	else if (sscanf(line, "ask %u", &cpu) == 1)
		ret = ask_rt(cpu);
	else if (sscanf(line, "stop %u", &cpu) == 1)
		ret = stop_rt(cpu);
	else if (!strncmp(line, "protect", 7))
		ret = protect(&c);
	else if (!strncmp(line, "unprotect", 9))
		ret = unprotect();
	else if (sscanf(line, "wild %u", &times) == 1)
		ret = with_hidden(wild_in, &times);
	else if (!strncmp(line, "stray", 5))
		ret = with_hidden(stray, NULL);
	else if (sscanf(line, "flip %llu %u", &address, &times) == 2)
		ret = flip(address, times);
	if (ret && c.text[0])
		pr_notice("layer: %s\n", c.text);
	return ret;
}

static int __init layer_test_init(void)
{
	if (!proc_create("layer", 0600, NULL, &command_proc_ops))
		return -ENOMEM;
	if (!proc_create("layer_memory", 0600, NULL, &memory_proc_ops)) {
		remove_proc_entry("layer", NULL);
		return -ENOMEM;
	}
	return 0;
}

static void __exit layer_test_exit(void)
{
	remove_proc_entry("layer_memory", NULL);
	remove_proc_entry("layer", NULL);
	unprotect();
}

module_init(layer_test_init);
module_exit(layer_test_exit);
MODULE_DESCRIPTION("SHIMOS tests: SPUMONE's layer under CPUs of this kernel");
MODULE_LICENSE("GPL");
