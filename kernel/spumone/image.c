// SPDX-License-Identifier: GPL-2.0
/*
 * The layer's image, in memory that nothing else uses.
 *
 * What is read and run exists once; each instance has a copy of the rest.  All see it
 * at one address, which Linux keeps free: no translation of Linux's may stand where the
 * layer has its own.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "spumone.h"

#define IMAGE_HOSTS_SIZE	(LAYER_HOSTS * LAYER_HOST_SIZE)

/*
 * Behind the image: the page of the interrupt controller, the shared one, what all instances
 * know of RTOSes, and a page of each of those that is shared with it.  Then the same two of
 * this kernel's CPUs.
 */
enum image_more {
	IMAGE_CONTROLLER,
	IMAGE_SHARED,
	IMAGE_POOL,
	IMAGE_GUESTS = IMAGE_POOL + LAYER_POOL_SIZE / LAYER_PAGE,
	IMAGE_HOSTS = IMAGE_GUESTS + LAYER_GUESTS,
	IMAGE_HOST_PAGES = IMAGE_HOSTS + IMAGE_HOSTS_SIZE / LAYER_PAGE,
	IMAGE_MORE_PAGES = IMAGE_HOST_PAGES + LAYER_HOSTS,
};

static void *image_text;	/* what is read and run */
static unsigned int image_text_order;
static void *image_window;	/* where it runs; the rest of it is kept free */
static void *image_pool;	/* the layer's, of RTOSes */
static struct layer_guest_page *image_guests;
static void *image_hosts;	/* the layer's, of this kernel's CPUs */
static struct layer_host_page *image_host_pages;

static const struct layer_header *image_header(void)
{
	return (const void *)spumone_layer_image;
}

/* Where something in the image is for the layer. */
static u64 image_address(u64 offset)
{
	return (u64)image_window + offset;
}

static u64 image_more_address(enum image_more page)
{
	return image_address(image_header()->size) + (u64)page * LAYER_PAGE;
}

/* The same in an instance's own part, as Linux sees it. */
static void *image_own(struct spumone_cpu *s, u64 offset)
{
	return s->own + (offset - image_header()->data);
}

static int image_check(void)
{
	const struct layer_header *h = image_header();
	u64 len = spumone_layer_image_end - spumone_layer_image;

	/* built with the module: a mistake of ours */
	return WARN_ON(h->magic != LAYER_MAGIC || h->stored != len || h->data > len ||
		       h->size < len || !IS_ALIGNED(h->data | h->size, LAYER_PAGE) ||
		       h->guests != h->size + IMAGE_GUESTS * LAYER_PAGE ||
		       PAGE_SIZE != LAYER_PAGE) ? -ENOEXEC : 0;
}

/* The whole window: pages that nobody touches stand where an instance has its own. */
static void *image_map(void)
{
	const struct layer_header *h = image_header();
	unsigned int i, text = h->data >> PAGE_SHIFT;
	unsigned int count = (h->size >> PAGE_SHIFT) + IMAGE_MORE_PAGES;
	struct page **pages = kcalloc(count, sizeof(*pages), GFP_KERNEL);
	void *window;

	if (!pages)
		return NULL;
	for (i = 0; i < count; i++)
		pages[i] = virt_to_page(image_text + ((u64)min(i, text - 1) << PAGE_SHIFT));
	window = vmap(pages, count, VM_MAP, PAGE_KERNEL_RO);
	kfree(pages);
	return window;
}

static void *image_pages(u64 size)
{
	return (void *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, get_order(size));
}

static int image_allocate(void)
{
	const struct layer_header *h = image_header();

	image_text_order = get_order(h->data);
	image_text = image_pages(h->data);
	image_pool = image_pages(LAYER_POOL_SIZE);
	image_guests = image_pages(LAYER_GUESTS * LAYER_PAGE);
	image_hosts = image_pages(IMAGE_HOSTS_SIZE);
	image_host_pages = image_pages(LAYER_HOSTS * LAYER_PAGE);
	if (!image_text || !image_pool || !image_guests || !image_hosts || !image_host_pages)
		return -ENOMEM;
	memcpy(image_text, spumone_layer_image, h->data);
	image_window = image_map();
	return image_window ? 0 : -ENOMEM;
}

/**
 * image_init() - check the layer's image, and put what all instances share into memory
 *
 * Context: process; may sleep.
 * Return: 0 or an error; then nothing is left.
 */
int image_init(void)
{
	int ret = image_check() ?: image_allocate();

	if (ret)
		image_exit();
	return ret;
}

/**
 * image_exit() - undo image_init()
 *
 * Context: process; there is no instance.
 */
void image_exit(void)
{
	vunmap(image_window);
	free_pages((unsigned long)image_host_pages, get_order(LAYER_HOSTS * LAYER_PAGE));
	free_pages((unsigned long)image_hosts, get_order(IMAGE_HOSTS_SIZE));
	free_pages((unsigned long)image_guests, get_order(LAYER_GUESTS * LAYER_PAGE));
	free_pages((unsigned long)image_pool, get_order(LAYER_POOL_SIZE));
	free_pages((unsigned long)image_text, image_text_order);
}

/**
 * image_guest_shared() - what Linux and the layer both write of an RTOS
 * @number: below LAYER_GUESTS
 *
 * Context: any.
 * Return: its page, which is there as long as the module.
 */
struct layer_guest_shared *image_guest_shared(unsigned int number)
{
	return &image_guests[number].shared;
}

/**
 * image_lost() - has one of this kernel's CPUs shut down?
 * @cpu: which one
 *
 * Of those from LAYER_HOSTS on nobody hears.
 *
 * Context: any.
 * Return: what the layer says of it, or NULL.
 */
const struct layer_shared *image_lost(unsigned int *cpu)
{
	for (*cpu = 0; *cpu < LAYER_HOSTS; (*cpu)++)
		/* pairs with layer_hosts_lost(): its address is there before that */
		if (smp_load_acquire(&image_host_pages[*cpu].shared.gone))
			return &image_host_pages[*cpu].shared;
	return NULL;
}

/**
 * image_pool_range() - where what the layer knows of RTOSes is in memory
 * @start: gets the physical address
 * @size: gets the bytes, whole pages
 *
 * Context: any.
 */
void image_pool_range(u64 *start, u64 *size)
{
	*start = __pa(image_pool);
	*size = PAGE_ALIGN(LAYER_POOL_SIZE);
}

/**
 * image_hosts_range() - where what the layer knows of this kernel's CPUs is in memory
 * @start: gets the physical address
 * @size: gets the bytes, whole pages
 *
 * Context: any.
 */
void image_hosts_range(u64 *start, u64 *size)
{
	*start = __pa(image_hosts);
	*size = PAGE_ALIGN(IMAGE_HOSTS_SIZE);
}

/**
 * image_host_controller() - where a CPU that is on another core finds its local interrupt controller
 * @cpu: below LAYER_HOSTS
 *
 * Context: any.
 * Return: a physical address.
 */
u64 image_host_controller(unsigned int cpu)
{
	return __pa(image_hosts) + cpu * LAYER_HOST_SIZE + LAYER_HOST_CONTROLLER;
}

/**
 * image_text_range() - where what all instances read and run is in memory
 * @start: gets the physical address
 * @size: gets the bytes, whole pages
 *
 * Context: any.
 */
void image_text_range(u64 *start, u64 *size)
{
	*start = __pa(image_text);
	*size = PAGE_SIZE << image_text_order;
}

static int image_map_more(struct spumone_tables *t, enum image_more page, const void *memory,
			  unsigned int count)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; !ret && i < count; i++)
		ret = spumone_arch_map(t, image_more_address(page + i),
				       __pa(memory) + (u64)i * PAGE_SIZE, SPUMONE_WRITE);
	return ret;
}

static int image_map_instance(struct spumone_cpu *s)
{
	const struct layer_header *h = image_header();
	u64 at, controller = spumone_arch_controller();
	struct spumone_tables *t = &s->tables;
	int ret = spumone_arch_tables(t) ?: spumone_arch_map_switch(s);

	for (at = 0; !ret && at < h->data; at += PAGE_SIZE)
		ret = spumone_arch_map(t, image_address(at), __pa(image_text + at), SPUMONE_RUN);
	for (; !ret && at < h->size; at += PAGE_SIZE)
		ret = spumone_arch_map(t, image_address(at), __pa(image_own(s, at)),
				       SPUMONE_WRITE);
	if (!ret && controller)
		ret = spumone_arch_map(t, image_more_address(IMAGE_CONTROLLER), controller,
				       SPUMONE_WRITE);
	return ret ?: image_map_more(t, IMAGE_SHARED, s->shared, 1) ?:
	       image_map_more(t, IMAGE_POOL, image_pool, LAYER_POOL_SIZE / LAYER_PAGE) ?:
	       image_map_more(t, IMAGE_GUESTS, image_guests, LAYER_GUESTS) ?:
	       image_map_more(t, IMAGE_HOSTS, image_hosts, IMAGE_HOSTS_SIZE / LAYER_PAGE) ?:
	       image_map_more(t, IMAGE_HOST_PAGES, image_host_pages, LAYER_HOSTS);
}

/**
 * image_fill() - make an instance as new, before it is launched
 * @s: not launched
 *
 * Context: any.
 */
void image_fill(struct spumone_cpu *s)
{
	const struct layer_header *h = image_header();
	struct layer_params *params = image_own(s, h->params);

	memset(s->own, 0, h->size - h->data);
	memcpy(s->own, spumone_layer_image + h->data, h->stored - h->data);
	memset(s->shared, 0, sizeof(*s->shared));
	params->apic = !!spumone_arch_controller();
	params->own = __pa(s->own);
	params->timer_scale = clock_scale(s->cpu);
	params->leave = spumone_arch_leave_address();
	params->core = s->cpu;
	params->pool_physical = __pa(image_pool);
	params->hosts_physical = __pa(image_hosts);
	spumone_arch_host_registers(params->msrs);
	s->shared->bell = spumone_arch_host_bell(s->cpu);
	s->shared->core = s->cpu;
}

/* Of those that can go to other cores, all instances see it. */
static struct layer_shared *image_shared(unsigned int cpu)
{
	if (cpu < LAYER_HOSTS)
		return &image_host_pages[cpu].shared;
	return (void *)get_zeroed_page(GFP_KERNEL);
}

/**
 * image_instance() - an instance for a CPU, not filled yet
 * @cpu: whose memory node it is in
 *
 * Context: may sleep.
 * Return: it, or NULL: no memory.
 */
struct spumone_cpu *image_instance(unsigned int cpu)
{
	const struct layer_header *h = image_header();
	struct spumone_cpu *s = kzalloc(sizeof(*s), GFP_KERNEL);
	struct page *own;

	if (!s)
		return NULL;
	s->cpu = cpu;
	INIT_LIST_HEAD(&s->tables.pages);
	s->own_order = get_order(h->size - h->data);
	own = alloc_pages_node(cpu_to_node(cpu), GFP_KERNEL, s->own_order);
	if (own) {
		s->own = page_address(own);
		s->state = image_own(s, h->vmcb);
		s->watched = image_own(s, h->msr_map);
	}
	s->shared = image_shared(cpu);
	s->code = (void *)get_zeroed_page(GFP_KERNEL);
	s->arch = (void *)get_zeroed_page(GFP_KERNEL);
	s->enter = image_address(h->enter);
	if (!s->own || !s->shared || !s->code || !s->arch || image_map_instance(s)) {
		image_free(s);
		return NULL;
	}
	return s;
}

/**
 * image_free() - free an instance
 * @s: not launched; also one that is not complete
 *
 * What it shares with Linux stays, for CPUs below LAYER_HOSTS: others look there at any time.
 *
 * Context: may sleep.
 */
void image_free(struct spumone_cpu *s)
{
	spumone_arch_free_tables(&s->tables);
	free_page((unsigned long)s->arch);
	free_page((unsigned long)s->code);
	if (s->cpu >= LAYER_HOSTS)
		free_page((unsigned long)s->shared);
	free_pages((unsigned long)s->own, s->own_order);
	kfree(s);
}
