// SPDX-License-Identifier: GPL-2.0
/*
 * What Linux sees of memory: one set of nested page tables for all CPUs.
 *
 * They hide themselves, too, so they are never changed: new ones are made, all CPUs are
 * told, and then the old ones are free.
 *
 * All here runs under launch_mutex and cpus_read_lock(), or while a CPU comes or goes, which
 * these exclude.  That guards the state here.
 */
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/smp.h>
#include <uapi/shimos_rt.h>
#include <uapi/shimos_shared.h>

#include "spumone.h"

static struct spumone_tables protect_tables = {
	.pages = LIST_HEAD_INIT(protect_tables.pages),
};
static bool protect_is_on;
static bool protect_guests_open;	/* the tables of RTOSes are to be seen */
static u64 protect_faults_before;	/* of instances that are gone */

/**
 * protect_on() - is something hidden, or can it be?
 *
 * Context: see launch_cpus.
 */
bool protect_on(void)
{
	return protect_is_on;
}

/* ---- what is hidden ---- */

static int protect_each_table(const struct spumone_tables *t,
			      int (*visit)(void *arg, u64 start, u64 size), void *arg)
{
	struct page *page;
	int ret = 0;

	/* hiding one can append another */
	list_for_each_entry(page, &t->pages, lru) {
		ret = visit(arg, page_to_phys(page), PAGE_SIZE);
		if (ret)
			break;
	}
	return ret;
}

static int protect_each_of_instance(struct spumone_cpu *s,
				    int (*visit)(void *arg, u64 start, u64 size), void *arg)
{
	return visit(arg, __pa(s->own), PAGE_SIZE << s->own_order) ?:
	       visit(arg, __pa(s->code), PAGE_SIZE) ?:
	       visit(arg, __pa(s->arch), PAGE_SIZE) ?:
	       protect_each_table(&s->tables, visit, arg);
}

/* All but the boot record, in which Linux goes on writing, and the area that they share. */
static int protect_each_of_guest(struct spumone_guest *g,
				 int (*visit)(void *arg, u64 start, u64 size), void *arg)
{
	u64 start = __pa(g->memory), own = SHIMOS_RT_BOOT + PAGE_SIZE;
	int ret;

	if (!g->hidden)
		return 0;
	ret = visit(arg, start, SHIMOS_RT_BOOT) ?:
	      visit(arg, start + own, g->size - SHIMOS_SHARED_SIZE - own);
	if (!ret && g->hidden > g->size)
		ret = visit(arg, start + g->size, g->hidden - g->size);
	return ret ?: protect_guests_open ? 0 : protect_each_table(&g->tables, visit, arg);
}

/* All that shall be hidden, but for the tables by which it is. */
static int protect_each(int (*visit)(void *arg, u64 start, u64 size), void *arg)
{
	struct spumone_guest *g;
	struct spumone_cpu *s;
	unsigned int cpu;
	u64 start, size;
	int ret;

	image_text_range(&start, &size);
	ret = visit(arg, start, size);
	image_pool_range(&start, &size);
	ret = ret ?: visit(arg, start, size);
	image_hosts_range(&start, &size);
	ret = ret ?: visit(arg, start, size);
	for_each_possible_cpu(cpu) {
		s = per_cpu(launch_cpus, cpu);
		if (!ret && s)
			ret = protect_each_of_instance(s, visit, arg);
	}
	for (g = guest_table; !ret && g < guest_table + LAYER_GUESTS; g++)
		if (g->runs)
			ret = protect_each_of_guest(g, visit, arg);
	return ret;
}

/**
 * protect_look() - look at all that is hidden now
 * @visit: called with @arg and each range's physical address and bytes, until it does not return
 *	0
 * @arg: for @visit
 *
 * Context: see launch_cpus.
 * Return: what @visit returned last, 0 if it was not called.
 */
int protect_look(int (*visit)(void *arg, u64 start, u64 size), void *arg)
{
	if (!protect_tables.root)
		return 0;
	return protect_each(visit, arg) ?: protect_each_table(&protect_tables, visit, arg);
}

/* ---- the tables ---- */

static int protect_hide(void *tables, u64 start, u64 size)
{
	return spumone_arch_hide(tables, start, size);
}

static void protect_tell_here(void *tables)
{
	struct spumone_cpu *s = this_cpu_read(launch_cpus);

	if (s && s->launched)
		spumone_arch_protect(((struct spumone_tables *)tables)->root);
}

/* From now on these are what Linux sees, on all CPUs. */
static void protect_replace(struct spumone_tables *t)
{
	struct spumone_tables old = { .pages = LIST_HEAD_INIT(old.pages) };

	on_each_cpu(protect_tell_here, t, 1);
	list_splice_init(&protect_tables.pages, &old.pages);
	list_splice_init(&t->pages, &protect_tables.pages);
	protect_tables.root = t->root;
	spumone_arch_free_tables(&old);
}

static void protect_open(void)
{
	struct spumone_tables all = { .pages = LIST_HEAD_INIT(all.pages) };

	protect_replace(&all);
}

/**
 * protect_tables_for() - page tables by which one CPU of this kernel sees no more than all do
 * @t: gets them; they hide themselves, too
 *
 * Context: may sleep; launch_mutex.
 * Return: 0 or -ENOMEM; either way the caller frees @t.
 */
int protect_tables_for(struct spumone_tables *t)
{
	int ret = spumone_arch_identity(t);

	if (!ret && protect_is_on)
		ret = protect_each(protect_hide, t) ?:
		      protect_each_table(&protect_tables, protect_hide, t) ?:
		      protect_each_table(t, protect_hide, t);
	return ret;
}

/**
 * protect_renew() - something more shall be hidden
 *
 * Context: may sleep; see launch_cpus.
 * Return: 0: it is, or nothing is hidden at all; -ENOMEM: all is as it was.
 */
int protect_renew(void)
{
	struct spumone_tables t;
	int ret;

	if (!protect_is_on)
		return 0;
	ret = spumone_arch_identity(&t) ?: protect_each(protect_hide, &t) ?:
	      protect_each_table(&t, protect_hide, &t);
	if (ret)
		spumone_arch_free_tables(&t);
	else
		protect_replace(&t);
	return ret;
}

/**
 * protect_shrink() - something is to be seen again, whatever it takes
 *
 * Without memory for new page tables nothing is hidden any more, which the log says.
 *
 * Context: may sleep; see launch_cpus.
 */
void protect_shrink(void)
{
	if (!protect_renew())
		return;
	protect_open();
	pr_err("no memory for page tables: nothing is protected from the host until the next real-time partition starts or ends\n");
}

/**
 * protect_change_guests() - change the tables of RTOSes that run, which Linux cannot see otherwise
 * @change: does it.  Not called without memory for that: they stay as they are
 *
 * Context: may sleep; see launch_cpus.
 */
void protect_change_guests(void (*change)(void))
{
	protect_guests_open = true;
	if (!protect_renew())
		change();
	protect_guests_open = false;
	protect_shrink();
}

/**
 * protect_open_guests() - the first step of protect_change_guests(), whatever it takes
 *
 * Until protect_close_guests() the tables can be changed.
 *
 * Context: may sleep; see launch_cpus.
 */
void protect_open_guests(void)
{
	protect_guests_open = true;
	protect_shrink();
}

/**
 * protect_close_guests() - the second step
 *
 * Context: may sleep; see launch_cpus.
 */
void protect_close_guests(void)
{
	protect_guests_open = false;
	protect_shrink();
}

/**
 * protect_flush() - have the processor forget all addresses on a CPU, Linux's and its RTOS's
 * @cpu: under the layer
 *
 * Context: may sleep; see launch_cpus.
 */
void protect_flush(unsigned int cpu)
{
	smp_call_function_single(cpu, protect_tell_here, &protect_tables, 1);
}

/**
 * protect_begin() - all CPUs that are online are under the layer: it hides itself
 *
 * Context: may sleep; see launch_cpus.
 * Return: 0 or -ENOMEM: nothing is hidden.
 */
int protect_begin(void)
{
	int ret;

	protect_is_on = true;
	ret = protect_renew();
	protect_is_on = !ret;
	return ret;
}

/**
 * protect_end() - nothing is hidden any more
 *
 * Context: may sleep; see launch_cpus.
 */
void protect_end(void)
{
	protect_open();
	protect_is_on = false;
}

/* ---- what came of it ---- */

/**
 * protect_leaves() - an instance is about to be filled anew, or freed: keep its count of faults
 * @s: nobody else looks at it
 *
 * Context: any.
 */
void protect_leaves(struct spumone_cpu *s)
{
	protect_faults_before += s->shared->counts.faults;
	s->shared->counts.faults = 0;
}

/**
 * protect_faults() - how often Linux touched what is hidden, on all CPUs, since the module is there
 *
 * Context: launch_mutex.
 */
u64 protect_faults(void)
{
	u64 faults = protect_faults_before;
	struct spumone_cpu *s;
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		s = per_cpu(launch_cpus, cpu);
		if (s)
			faults += READ_ONCE(s->shared->counts.faults);
	}
	return faults;
}
