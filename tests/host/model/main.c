// SPDX-License-Identifier: GPL-2.0
/* Runs all scenarios, then all mutations; `make check-model`. */
#include <stdio.h>
#include <string.h>
#include "explore.h"

static unsigned int failed;
static double total;

static void print(const char *name, const struct result *r, const char *verdict)
{
	printf("%-50s %9lu states %9lu steps %7lu ends %6.2f s  %s\n", name, r->states,
	       r->transitions, r->runs, r->seconds, verdict);
	fflush(stdout);
	total += r->seconds;
}

static void run(const struct scenario *list, unsigned int count, const char *only)
{
	struct result r;

	for (; count--; list++) {
		if (only && !strstr(list->name, only))
			continue;
		r = model_explore(list, NULL);
		print(list->name, &r, r.failure ? r.failure : "ok");
		failed += !!r.failure;
	}
}

static const struct scenario *find(const char *name)
{
	unsigned int i;

	for (i = 0; i < ring_scenario_count; i++)
		if (!strcmp(ring_scenarios[i].name, name))
			return &ring_scenarios[i];
	for (i = 0; i < heap_scenario_count; i++)
		if (!strcmp(heap_scenarios[i].name, name))
			return &heap_scenarios[i];
	return NULL;
}

static void mutate(const struct mutation *m)
{
	const struct scenario *s = find(m->scenario);
	struct result r = {};
	char name[200], verdict[200];

	if (s)
		r = model_explore(s, m);
	snprintf(name, sizeof(name), "%s: %s", m->func, m->name);
	snprintf(verdict, sizeof(verdict), "%s%s", r.failure ? "found: " :
		 s ? "NOT FOUND in " : "no scenario ", r.failure ? r.failure : m->scenario);
	print(name, &r, verdict);
	failed += !r.failure;
}

/* An argument chooses scenarios and mutations whose names contain it. */
int main(int argc, char **argv)
{
	const char *only = argc > 1 ? argv[1] : NULL;
	unsigned int i;

	run(ring_scenarios, ring_scenario_count, only);
	run(heap_scenarios, heap_scenario_count, only);
	printf("mutations, each of which must be found:\n");
	for (i = 0; i < mutation_count; i++)
		if (!only || strstr(mutations[i].func, only) ||
		    strstr(mutations[i].name, only))
			mutate(&mutations[i]);
	printf("%u failed, %.1f s\n", failed, total);
	return failed != 0;
}
