// SPDX-License-Identifier: GPL-2.0
/*
 * Each safety of the code taken out in turn; the checker must see that it is
 * missing, or it would not see either if somebody forgot it.
 *
 * Missing in the list, because they make no difference in this memory model: the
 * release in ikc_publish(), which is there for loads (see access.c), and those
 * in uncut(), where a read-modify-write has just made all stores visible.
 */
#include "explore.h"

#define RING	"ring: 2 slots, 5 messages"
#define BATCH	"ring: 2 slots, 5 messages, in batches of 3"
#define HOLDER	"heap: holder, taker and scavenger"
#define FULL	"heap: 2 spans, 32K, full and freed"
#define CUT	"heap: 32K against 16K"
#define DEATH	"death: 32K against 64K"
#define SENT	"sender dies: 32K"
#define UNREAD	"receiver dies: 32K"
#define UNREAD_CPUS "receiver dies: two CPUs, one allocates"

const struct mutation mutations[] = {
	{ RING, MUTATE_NO_MB, "ikc_must_ring", "no barrier" },
	{ RING, MUTATE_NO_MB, "ikc_arm", "no barrier" },
	{ RING, MUTATE_NO_MB, "ikc_publish", "no barrier" },
	{ RING, MUTATE_NO_MB, "ikc_wait_for_room", "no barrier" },
	{ RING, MUTATE_PLAIN, "ikc_ring_write", "plain store of seq" },
	{ RING, MUTATE_LATE_RELEASE, "ikc_ring_write", "looks for a wish, then writes" },
	{ RING, MUTATE_LATE_STORE, "ikc_arm", "looks, then wishes" },
	{ RING, MUTATE_LATE_STORE, "ikc_wait_for_room", "looks, then wishes" },
	{ RING, MUTATE_LATE_RELEASE, "ikc_publish", "looks for a wish, then publishes" },
	{ RING, MUTATE_LOAD_MORE, "ikc_find_room", "a slot too many" },
	{ BATCH, MUTATE_USE, "producer", "sleeps without notification" },
	{ RING, MUTATE_USE, "consumer", "never rings back" },

	{ CUT, MUTATE_NO_RECHECK, "ikc_heap_take_block", "no second look at the span" },
	{ HOLDER, MUTATE_KEEP, "ikc_heap_take_block", "does not let go" },
	{ HOLDER, MUTATE_TORN_RMW, "ikc_heap_take_block", "tag not atomic" },
	{ HOLDER, MUTATE_TORN_RMW, "ikc_heap_uncut", "tag not atomic" },
	{ CUT, MUTATE_TORN_RMW, "ikc_heap_scavenge", "span not atomic" },
	{ "heap: 32K against 16K, both cut", MUTATE_TORN_RMW, "ikc_heap_claim", "span not atomic" },
	{ "heap: double free", MUTATE_TORN_RMW, "ikc_heap_retag", "tag not atomic" },
	{ HOLDER, MUTATE_TORN_RMW, "ikc_heap_hint_free", "hint not atomic" },
	{ HOLDER, MUTATE_SKIP_RMW, "ikc_heap_hint_free", "no hint" },
	{ HOLDER, MUTATE_NO_SECOND_LOOK, "ikc_heap_take_partial", "clears the hint, does not look again" },
	{ HOLDER, MUTATE_LATE_BITS, "ikc_heap_take_partial", "hint not ordered" },
	{ FULL, MUTATE_LATE_BITS, "ikc_heap_cut", "hint not ordered" },
	{ CUT, MUTATE_PLAIN, "ikc_heap_cut", "plain stores of hints and span" },
	{ CUT, MUTATE_SKIP_RMW, "ikc_heap_uncut", "tags stay" },
	{ DEATH, MUTATE_NOT_CHANGING, "ikc_heap_reclaim_span", "leaves changing spans alone" },
	{ DEATH, MUTATE_SKIP_RMW, "ikc_heap_free_tagged", "leaves tags alone" },
	{ SENT, MUTATE_UNTAGGED, "ikc_heap_retag", "sends without a tag" },
	{ SENT, MUTATE_TORN_ACCEPT, "ikc_heap_retag", "accepts in two steps" },
	{ SENT, MUTATE_BLIND_ACCEPT, "ikc_heap_retag", "accepts without a comparison" },
	{ SENT, MUTATE_NO_FLIGHT, "ikc_heap_free_tagged", "what is on its way is not reclaimed" },
	{ UNREAD, MUTATE_NO_FLIGHT, "ikc_heap_free_tagged", "what is on its way is not recalled" },
	{ UNREAD, MUTATE_USE, "recall", "nothing is recalled" },
	{ "receiver dies: another lives", MUTATE_USE, "recall_all", "other receivers' as well" },
	{ UNREAD_CPUS, MUTATE_NO_MB, "ikc_heap_recall", "no barrier" },
	{ UNREAD_CPUS, MUTATE_TORN_ACCEPT, "ikc_heap_retag", "unsends in two steps" },
	{ UNREAD_CPUS, MUTATE_BLIND_ACCEPT, "ikc_heap_retag", "unsends without a comparison" },
	{ "death: fresh", MUTATE_SKIP_RMW, "ikc_heap_reclaim", "does not mend free_spans" },
};
const unsigned int mutation_count = sizeof(mutations) / sizeof(mutations[0]);
