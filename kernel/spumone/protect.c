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

/* Something is hidden, or can be. */
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

/* All that is hidden now: what @visit returned last. */
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

/* Others, by which one CPU of this kernel sees no more than all do. */
int protect_tables_for(struct spumone_tables *t)
{
	int ret = spumone_arch_identity(t);

	if (!ret && protect_is_on)
		ret = protect_each(protect_hide, t) ?:
		      protect_each_table(&protect_tables, protect_hide, t) ?:
		      protect_each_table(t, protect_hide, t);
	return ret;
}

/* Something more shall be hidden: 0 when it is, or -ENOMEM. */
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

/* Something is to be seen again, whatever it takes. */
void protect_shrink(void)
{
	if (!protect_renew())
		return;
	protect_open();
	pr_err("no memory for page tables: nothing is protected from the host until the next real-time partition starts or ends\n");
}

/*
 * Linux changes the tables of RTOSes that run, which it cannot see otherwise.  Without memory
 * for that they stay as they are.
 */
void protect_change_guests(void (*change)(void))
{
	protect_guests_open = true;
	if (!protect_renew())
		change();
	protect_guests_open = false;
	protect_shrink();
}

/* The same in two steps, whatever it takes: until the second one they can be changed. */
void protect_open_guests(void)
{
	protect_guests_open = true;
	protect_shrink();
}

void protect_close_guests(void)
{
	protect_guests_open = false;
	protect_shrink();
}

/* The processor remembers no address on a CPU under the layer, neither Linux's nor its RTOS's. */
void protect_flush(unsigned int cpu)
{
	smp_call_function_single(cpu, protect_tell_here, &protect_tables, 1);
}

/* All CPUs that are online are under the layer: it hides itself. */
int protect_begin(void)
{
	int ret;

	protect_is_on = true;
	ret = protect_renew();
	protect_is_on = !ret;
	return ret;
}

void protect_end(void)
{
	protect_open();
	protect_is_on = false;
}

/* ---- what came of it ---- */

/* An instance is about to be filled anew, or freed. */
void protect_leaves(struct spumone_cpu *s)
{
	protect_faults_before += s->shared->counts.faults;
	s->shared->counts.faults = 0;
}

/* Of all CPUs, since the module is there. */
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
