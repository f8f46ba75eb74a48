// SPDX-License-Identifier: GPL-2.0
/* Tracepoints that the kernel does not export, found by their names. */
#include <linux/string.h>
#include <linux/tracepoint.h>

#include <shimos/tracepoints.h>

struct tracepoints_search {
	struct shimos_tracepoint *points;
	unsigned int count;
};

static void shimos_tracepoints_look(struct tracepoint *point, void *data)
{
	struct tracepoints_search *search = data;
	unsigned int i;

	for (i = 0; i < search->count; i++)
		if (!strcmp(point->name, search->points[i].name))
			search->points[i].point = point;
}

/**
 * shimos_tracepoints_hear() - call a probe whenever one of these tracepoints is passed
 * @points: the first one is heard first; those that are heard already stay so
 * @count: how many
 * @missing: set to the name of one that this kernel does not have, or to NULL
 *
 * Context: may sleep. One call at a time for the same @points.
 * Return: 0, -EOPNOTSUPP if one is missing, or why one could not be heard; then none of them is.
 */
int shimos_tracepoints_hear(struct shimos_tracepoint *points, unsigned int count,
			    const char **missing)
{
	struct tracepoints_search search = { points, count };
	unsigned int i;
	int err = 0;

	*missing = NULL;
	for_each_kernel_tracepoint(shimos_tracepoints_look, &search);
	for (i = 0; !err && i < count; i++) {
		if (points[i].heard)
			continue;
		if (points[i].point) {
			err = tracepoint_probe_register(points[i].point, points[i].probe, NULL);
			points[i].heard = !err;
		} else {
			*missing = points[i].name;
			err = -EOPNOTSUPP;
		}
	}
	if (err)
		shimos_tracepoints_leave(points, count);
	return err;
}

/**
 * shimos_tracepoints_leave() - no probe is called any more
 * @points: as shimos_tracepoints_hear() had them
 * @count: how many
 *
 * Context: may sleep; nobody is in a probe when it returns.
 */
void shimos_tracepoints_leave(struct shimos_tracepoint *points, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		if (points[i].heard)
			tracepoint_probe_unregister(points[i].point, points[i].probe, NULL);
		points[i].heard = false;
	}
	tracepoint_synchronize_unregister();
}
