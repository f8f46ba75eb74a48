// SPDX-License-Identifier: GPL-2.0
/*
 * Each safety of the code taken out in turn; the checker must see that it is
 * missing, or it would not see either if somebody forgot it.
 *
 * Of every access that is there for its order, one mutation takes the order; or it
 * stands among the needless, with the reason why the code would do without: something
 * beside it orders the same.  Those must make no difference.
 */
#include "explore.h"

#define RING	"ring: 2 slots, 5 messages"
#define SMALL	"ring: 2 slots, 3 messages"
#define BATCH	"ring: 2 slots, 5 messages, in batches of 3"
#define RESUME	"resume: 2 slots, 3 messages"
#define HOLDER	"heap: holder, taker and scavenger"
#define FIRST	"heap: 32K against 64K"
#define FULL	"heap: 2 spans, 32K, full and freed"
#define CUT	"heap: 32K against 16K"
#define DEATH	"death: 32K against 64K"
#define DEATHS	"death: 32K"
#define SENT	"sender dies: 32K"
#define UNREAD	"receiver dies: 32K"
#define UNREAD_CPUS "receiver dies: two CPUs, one allocates"
#define BELL	"area: a doorbell that moves"
#define POKE	"area: a poke"
#define PORT	"area: a port"
#define CHUNK	"area: another chunk"
#define LATE	"area: another chunk, late"
#define TABLE	"area: a kernel comes up"
#define HELD	"area: memory is held"
#define HELD_HOST "area: memory is held by the host"
#define AGENT	"area: an agent"

const struct mutation mutations[] = {
	{ RING, MUTATE_RELAX, "ikc_must_ring", "smp_mb", "no barrier" },
	{ RING, MUTATE_RELAX, "ikc_arm", "smp_mb", "no barrier" },
	{ RING, MUTATE_RELAX, "ikc_publish", "smp_mb", "no barrier" },
	{ RING, MUTATE_RELAX, "ikc_wait_for_room", "smp_mb", "no barrier" },
	{ RING, MUTATE_RELAX, "ikc_ring_write", "seq", "no release" },
	{ RING, MUTATE_RELAX, "ikc_ready", "seq", "no acquire" },
	{ RING, MUTATE_RELAX, "ikc_publish", "tail", "no release" },
	{ RING, MUTATE_LATE_RELEASE, "ikc_ring_write", "", "looks for a wish, then writes" },
	{ RING, MUTATE_LATE_STORE, "ikc_arm", "", "looks, then wishes" },
	{ RING, MUTATE_LATE_STORE, "ikc_wait_for_room", "", "looks, then wishes" },
	{ RING, MUTATE_LATE_RELEASE, "ikc_publish", "", "looks for a wish, then publishes" },
	{ RING, MUTATE_LOAD_MORE, "ikc_find_room", "", "a slot too many" },
	{ BATCH, MUTATE_USE, "producer", "", "sleeps without notification" },
	{ RING, MUTATE_USE, "consumer", "", "never rings back" },

	{ FULL, MUTATE_RELAX, "ikc_heap_hint_free", "blocks", "block's hint not ordered" },
	{ FIRST, MUTATE_RELAX, "ikc_heap_take_block", "blocks", "hint not ordered" },
	{ FULL, MUTATE_RELAX, "ikc_heap_take_block", "TAG_FREE, heap", "tag not ordered" },
	{ FULL, MUTATE_RELAX, "ikc_heap_take_partial", "", "hint not ordered" },
	{ DEATHS, MUTATE_RELAX, "ikc_heap_cut", "blocks", "no release of hints" },
	{ FIRST, MUTATE_RELAX, "ikc_heap_cut", "&chunk->span", "no release of the span" },
	{ FULL, MUTATE_RELAX, "ikc_heap_cut", "partial", "hint not ordered" },
	{ FIRST, MUTATE_RELAX, "ikc_heap_scavenge", "", "span not ordered" },
	{ UNREAD_CPUS, MUTATE_RELAX, "ikc_heap_retag", "", "tag not ordered" },
	{ UNREAD_CPUS, MUTATE_RELAX, "ikc_heap_recall", "", "no barrier" },
	{ CUT, MUTATE_NO_RECHECK, "ikc_heap_take_block", "", "no second look at the span" },
	{ HOLDER, MUTATE_KEEP, "ikc_heap_take_block", "", "does not let go" },
	{ HOLDER, MUTATE_TORN_RMW, "ikc_heap_take_block", "", "tag not atomic" },
	{ HOLDER, MUTATE_TORN_RMW, "ikc_heap_uncut", "", "tag not atomic" },
	{ CUT, MUTATE_TORN_RMW, "ikc_heap_scavenge", "", "span not atomic" },
	{ "heap: 32K against 16K, both cut", MUTATE_TORN_RMW, "ikc_heap_claim", "", "span not atomic" },
	{ "heap: double free", MUTATE_TORN_RMW, "ikc_heap_retag", "", "tag not atomic" },
	{ HOLDER, MUTATE_TORN_RMW, "ikc_heap_hint_free", "", "hint not atomic" },
	{ HOLDER, MUTATE_SKIP_RMW, "ikc_heap_hint_free", "", "no hint" },
	{ HOLDER, MUTATE_NO_SECOND_LOOK, "ikc_heap_take_partial", "", "does not look again" },
	{ CUT, MUTATE_SKIP_RMW, "ikc_heap_uncut", "", "tags stay" },
	{ DEATH, MUTATE_NOT_CHANGING, "ikc_heap_reclaim_span", "", "leaves changing spans alone" },
	{ DEATH, MUTATE_SKIP_RMW, "ikc_heap_free_tagged", "", "leaves tags alone" },
	{ SENT, MUTATE_UNTAGGED, "ikc_heap_retag", "", "sends without a tag" },
	{ SENT, MUTATE_TORN_ACCEPT, "ikc_heap_retag", "", "accepts in two steps" },
	{ SENT, MUTATE_BLIND_ACCEPT, "ikc_heap_retag", "", "accepts without a comparison" },
	{ SENT, MUTATE_NO_FLIGHT, "ikc_heap_free_tagged", "", "what is on its way is not reclaimed" },
	{ UNREAD, MUTATE_NO_FLIGHT, "ikc_heap_free_tagged", "", "what is on its way is not recalled" },
	{ UNREAD, MUTATE_USE, "recall", "", "nothing is recalled" },
	{ "receiver dies: another lives", MUTATE_USE, "recall_all", "", "other receivers' as well" },
	{ UNREAD_CPUS, MUTATE_TORN_ACCEPT, "ikc_heap_retag", "", "unsends in two steps" },
	{ UNREAD_CPUS, MUTATE_BLIND_ACCEPT, "ikc_heap_retag", "", "unsends without a comparison" },
	{ "death: fresh", MUTATE_SKIP_RMW, "ikc_heap_reclaim", "", "does not mend free_spans" },

	{ BELL, MUTATE_RELAX, "ikc_ring_queues", "", "bit not ordered" },
	{ BELL, MUTATE_RELAX, "ikc_bell_moved", "", "no barrier" },
	{ BELL, MUTATE_RELAX, "ikc_look_rang", "", "bit not ordered" },
	{ POKE, MUTATE_RELAX, "ikc_poke", "", "count not ordered" },
	{ POKE, MUTATE_RELAX, "ikc_arch_bell_ring", "", "no barrier" },
	{ POKE, MUTATE_RELAX, "ikc_peers_looking", "", "no barrier" },
	{ POKE, MUTATE_RELAX, "ikc_rx_publish", "", "no release" },
	{ POKE, MUTATE_RELAX, "ikc_tx_attach", "ring", "no acquire" },
	{ PORT, MUTATE_RELAX, "ikc_tx_attach", "smp_mb", "no barrier" },
	{ PORT, MUTATE_RELAX, "ikc_tx_detach", "", "no release" },
	{ PORT, MUTATE_RELAX, "ikc_rx_destroy", "", "no barrier" },
	{ PORT, MUTATE_RELAX, "ikc_rx_attached", "", "no acquire" },
	{ CHUNK, MUTATE_RELAX, "ikc_host_grow", "", "no barrier" },
	{ CHUNK, MUTATE_RELAX, "ikc_area_follow", "smp_rmb", "no barrier" },
	{ CHUNK, MUTATE_RELAX, "ikc_area_follow", "chunks", "no release" },
	{ CHUNK, MUTATE_RELAX, "ikc_area_map", "", "no release" },
	{ CHUNK, MUTATE_RELAX, "ikc_heap_mapped", "", "no acquire" },
	{ CHUNK, MUTATE_RELAX, "ikc_heap_chunks", "", "no acquire" },
	{ LATE, MUTATE_RELAX, "ikc_area_use", "", "no release" },
	{ TABLE, MUTATE_RELAX, "ikc_attach_announce", "", "no release" },
	{ TABLE, MUTATE_RELAX, "ikc_look_at", "", "no acquire" },
	{ HELD, MUTATE_RELAX, "ikc_host_publish", "", "no barrier" },
	{ HELD_HOST, MUTATE_RELAX, "ikc_host_set_state", "", "no release" },
	{ HELD, MUTATE_RELAX, "ikc_hold", "smp_mb", "no barrier" },
	{ HELD, MUTATE_RELAX, "ikc_hold", "smp_rmb", "no read barrier" },
	{ HELD, MUTATE_RELAX, "ikc_unhold", "", "no barrier" },
	{ HELD, MUTATE_RELAX, "ikc_host_wait_unheld", "", "no barrier" },
	{ AGENT, MUTATE_RELAX, "agent_init", "", "no barrier" },
	{ AGENT, MUTATE_RELAX, "kind_ready", "", "no acquire" },
};
const unsigned int mutation_count = sizeof(mutations) / sizeof(mutations[0]);

const struct mutation needless[] = {
	{ SMALL, MUTATE_RELAX, "ikc_find_room", "tail", "only stores come behind, and depend on it" },
	{ RESUME, MUTATE_RELAX, "ikc_resume", "tail", "the last producer's end came before" },
	{ RESUME, MUTATE_RELAX, "ikc_resume", "seq", "the slots themselves are not read" },
	{ FIRST, MUTATE_RELAX, "ikc_heap_hint_free", "partial", "nothing behind relies on it" },
	{ CUT, MUTATE_RELAX, "ikc_heap_take_block", "owner, TAG_FREE", "the hint behind is a barrier" },
	{ FIRST, MUTATE_RELAX, "ikc_heap_claim", "&chunk->span", "the hint behind is a barrier" },
	{ FIRST, MUTATE_RELAX, "ikc_heap_claim", "free_spans", "the span's release comes behind" },
	{ FIRST, MUTATE_RELAX, "ikc_heap_uncut", "TAG_FREE, TAG_NONE", "the hint behind is a barrier" },
	{ FIRST, MUTATE_RELAX, "ikc_heap_uncut", "partial", "the span's release comes behind" },
	{ FIRST, MUTATE_RELAX, "ikc_heap_uncut", "&chunk->span", "exchanges before are barriers" },
	{ FIRST, MUTATE_RELAX, "ikc_heap_uncut", "free_spans", "nothing behind relies on it" },
	{ CUT, MUTATE_RELAX, "ikc_heap_uncut", "TAG_NONE, TAG_FREE", "the span's release comes behind" },
	{ DEATHS, MUTATE_RELAX, "ikc_heap_free_tagged", "", "the hint behind is a barrier" },
	{ DEATHS, MUTATE_RELAX, "ikc_heap_reclaim", "", "nothing behind relies on it" },
	{ PORT, MUTATE_RELAX, "ikc_tx_attach", "attached", "nothing was written to the ring" },
	{ CHUNK, MUTATE_RELAX, "ikc_host_update_usable", "", "only stores come behind, and depend on it" },
};
const unsigned int needless_count = sizeof(needless) / sizeof(needless[0]);
