/* SPDX-License-Identifier: GPL-2.0 */
/* What scenarios see of the explorer. */
#ifndef _EXPLORE_H
#define _EXPLORE_H

#include "model.h"

#define MODEL_THREADS	4
#define MODEL_WINDOW	24

struct scenario {
	const char *name;
	unsigned int threads;
	void (*setup)(const struct scenario *s);	/* alone, before the threads */
	void (*thread[MODEL_THREADS])(const struct scenario *s);
	void (*finish)(const struct scenario *s);	/* alone, after them */
	unsigned int window;		/* so many overwritten values can be read, at most */
	int victim;			/* thread that may stop at any step, or -1 */
	unsigned int a, b, c, d, e;	/* the scenario's own parameters */
	const char *program[MODEL_THREADS];	/* the same */
};

/* One safety taken out of the code, at the accesses that stand in @func. */
enum mutate {
	MUTATE_RELAX,		/* acquire, release, barrier, read-modify-write order nothing */
	MUTATE_LATE_STORE,	/* a plain store happens after the thread's next load */
	MUTATE_LATE_RELEASE,	/* a release does */
	MUTATE_LOAD_MORE,	/* a load gives one more than there is */
	MUTATE_TORN_RMW,	/* read-modify-write in two steps */
	MUTATE_SKIP_RMW,	/* a read-modify-write does nothing */
	MUTATE_KEEP,		/* an exchange for "free" does nothing */
	MUTATE_NO_RECHECK,	/* the span's word is always as wished */
	MUTATE_NO_SECOND_LOOK,	/* no bits are seen after bits were cleared in @func */
	MUTATE_NOT_CHANGING,	/* a span that is being changed looks free */
	MUTATE_UNTAGGED,	/* what is sent stays plainly its sender's */
	MUTATE_TORN_ACCEPT,	/* what is on its way changes hands in two steps */
	MUTATE_BLIND_ACCEPT,	/* and whatever the tag says */
	MUTATE_NO_FLIGHT,	/* what is on its way looks free */
	MUTATE_USE,		/* the scenario breaks a rule of use: model_misuse() */
};

struct mutation {
	const char *scenario;
	enum mutate kind;
	const char *func;
	const char *text;	/* only at accesses that are written with this in them */
	const char *name;
};

struct result {
	const char *failure;	/* kind of the violation, or NULL */
	unsigned long states, transitions;
	unsigned long runs;		/* schedules gone through to their end */
	double seconds;
};

/* Memory that threads share: only accesses to it are steps. */
void model_share(volatile void *at, unsigned int size);
/* Memory that nobody in the scenario reads: stores to it are no steps. */
void model_unread(volatile void *at, unsigned int size);

struct result model_explore(const struct scenario *s, const struct mutation *m);

/* In a thread or in finish(): the property does not hold. */
void model_fail(const char *kind);
#define MODEL_CHECK(ok, kind) do { if (!(ok)) model_fail(kind); } while (0)

bool model_misuse(const char *func);

/* The thread's loads are the scenario's own: no steps, and of the newest values. */
void model_quiet(bool on);

/* The thread looks at what it has copied out: by now it must be there. */
void model_use_copies(void);

/* Sleep until *@bell is set, and clear it; set it, like a doorbell. */
void model_wait(__u32 *bell);
void model_ring(__u32 *bell);

/* Sleep until the victim has stopped or ended and its stores are visible. */
void model_wait_for_victim(void);

/* The scenario's notes about the state, which follow the schedule back and forth. */
void model_note(void *at, unsigned int size, __u64 value);

/* The span word for which MUTATE_NO_RECHECK is blind. */
void model_wish(__u64 word);

/* The accesses that were come to and are there for their order, from 0; or NULL. */
const struct model_site *model_ordered_site(unsigned int n);

extern const struct scenario ring_scenarios[], heap_scenarios[], area_scenarios[];
extern const unsigned int ring_scenario_count, heap_scenario_count, area_scenario_count;
extern const struct mutation mutations[], needless[];
extern const unsigned int mutation_count, needless_count;

/* litmus.c: of how many small programs comes something else than on Arm? */
unsigned int litmus_run(const char *only);

#endif
