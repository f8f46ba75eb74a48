// SPDX-License-Identifier: GPL-2.0
/* What KLoader writes to the area shared with a partition's agent, and reads there as text. */
#include <linux/ctype.h>
#include <shimos/ikc_host.h>

#include "kloader.h"

/**
 * shared_copy_text() - copy a peer's text, made safe to print
 * @to: gets it
 * @from: it may change while we look
 * @size: of both, bytes
 *
 * Context: any.
 */
void shared_copy_text(char *to, const char *from, size_t size)
{
	size_t i;

	for (i = 0; i < size - 1; i++) {
		char ch = READ_ONCE(from[i]);

		if (!ch)
			break;
		to[i] = isascii(ch) && isprint(ch) ? ch : ' ';
	}
	to[i] = '\0';
}

/**
 * shared_publish_bell() - tell it where the host's bell is
 * @p: loaded
 *
 * The bell may move meanwhile, and its new place be published by life_bell_moved() before ours:
 * look again afterwards.
 *
 * Context: any.
 */
void shared_publish_bell(struct partition *p)
{
	u64 place;

	do {
		place = ikc_bell_get();
		p->kind->hear(p, place);
		smp_mb();	/* published before the place is looked at again */
	} while (place != ikc_bell_get());
}

/**
 * shared_reset() - all of it anew, before a start
 * @p: loaded, does not run
 *
 * Context: p->mutex and p->input_mutex are held.
 */
void shared_reset(struct partition *p)
{
	struct shimos_shared *shared = p->shared;
	struct shimos_last_log *log = (void *)shared + SHIMOS_LAST_LOG;
	struct shimos_console_in *in = (void *)shared + SHIMOS_CONSOLE_IN;
	struct shimos_interrupts *interrupts = (void *)shared + SHIMOS_INTERRUPTS;

	/* the console's output stays: watchers go on reading after a restart */
	memset(shared, 0, SHIMOS_CONSOLE_OUT);
	log->length = 0;
	interrupts->count = 0;
	in->head = in->tail = p->input_head;
	strscpy(shared->name, p->name, sizeof(shared->name));
	shared->ikc_area = ikc_host_area();
	shared->ikc_kernel = p->ikc_kernel;
	shared->ikc_life = p->ikc_life;
	shared->watchers = atomic_read(&p->watchers);
	shared->size = SHIMOS_SHARED_SIZE;
	shared->version = SHIMOS_SHARED_VERSION;
	shared->magic = SHIMOS_SHARED_MAGIC;
	shared_publish_bell(p);
}
