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

static const struct scenario *find_in(const struct scenario *list, unsigned int count,
				      const char *name)
{
	for (; count--; list++)
		if (!strcmp(list->name, name))
			return list;
	return NULL;
}

static const struct scenario *find(const char *name)
{
	return find_in(ring_scenarios, ring_scenario_count, name) ?:
	       find_in(area_scenarios, area_scenario_count, name) ?:
	       find_in(heap_scenarios, heap_scenario_count, name);
}

static void mutate(const struct mutation *m, bool makes_a_difference)
{
	const struct scenario *s = find(m->scenario);
	struct result r = {};
	char name[200], verdict[200];

	if (s)
		r = model_explore(s, m);
	snprintf(name, sizeof(name), "%s: %s", m->func, m->name);
	snprintf(verdict, sizeof(verdict), "%s%s", r.failure ? "found: " :
		 s ? "not found in " : "no scenario ", r.failure ? r.failure : m->scenario);
	print(name, &r, verdict);
	failed += !s || !!r.failure != makes_a_difference;
}

static bool is_listed(const struct model_site *site, const struct mutation *list,
		      unsigned int count)
{
	for (; count--; list++)
		if (list->kind == MUTATE_RELAX && !strcmp(list->func, site->func) &&
		    strstr(site->text, list->text))
			return true;
	return false;
}

/* Has each access of the product that is there for its order been mutated? */
static void check_complete(void)
{
	const struct model_site *site;
	unsigned int i;

	for (i = 0; (site = model_ordered_site(i)); i++) {
		if (strncmp(site->func, "ikc_", 4) && strncmp(site->func, "agent_", 6) &&
		    strncmp(site->func, "kind_", 5))
			continue;
		if (is_listed(site, mutations, mutation_count) ||
		    is_listed(site, needless, needless_count))
			continue;
		printf("%s: %s: no mutation takes its order\n", site->func, site->text);
		failed++;
	}
}

static void mutate_all(const struct mutation *m, unsigned int count, const char *only,
		       bool make_a_difference)
{
	for (; count--; m++)
		if (!only || strstr(m->func, only) || strstr(m->name, only))
			mutate(m, make_a_difference);
}

/* An argument chooses scenarios and mutations whose names contain it. */
int main(int argc, char **argv)
{
	const char *only = argc > 1 ? argv[1] : NULL;

	failed = litmus_run(only);
	run(ring_scenarios, ring_scenario_count, only);
	run(area_scenarios, area_scenario_count, only);
	run(heap_scenarios, heap_scenario_count, only);
	printf("mutations, each of which must be found:\n");
	mutate_all(mutations, mutation_count, only, true);
	printf("orders that something else gives as well, and which make no difference:\n");
	mutate_all(needless, needless_count, only, false);
	if (!only)
		check_complete();
	printf("%u failed, %.1f s\n", failed, total);
	return failed != 0;
}
