// SPDX-License-Identifier: GPL-2.0
/*
 * The states of a partition: their names, which may follow which, and telling those
 * who wait for a change.
 */
#include <linux/kobject.h>
#include <linux/sysfs.h>

#include "kloader.h"

static const char *const state_names[] = {
	[SHIMOS_CREATED] = "created",
	[SHIMOS_LOADED] = "loaded",
	[SHIMOS_STARTING] = "starting",
	[SHIMOS_RUNNING] = "running",
	[SHIMOS_STOPPING] = "stopping",
	[SHIMOS_STOPPED] = "stopped",
	[SHIMOS_CRASHED] = "crashed",
	[SHIMOS_STUCK] = "stuck",
};

#define STATE_ENDS	(BIT(SHIMOS_STOPPED) | BIT(SHIMOS_CRASHED) | BIT(SHIMOS_STUCK))

/* state_steps[from] has a bit for each state that may follow. */
static const u16 state_steps[] = {
	[0] = BIT(SHIMOS_CREATED),
	[SHIMOS_CREATED] = BIT(SHIMOS_LOADED),
	[SHIMOS_LOADED] = BIT(SHIMOS_STARTING) | BIT(SHIMOS_STUCK),
	[SHIMOS_STARTING] = BIT(SHIMOS_RUNNING) | STATE_ENDS,
	[SHIMOS_RUNNING] = BIT(SHIMOS_STOPPING) | STATE_ENDS,
	[SHIMOS_STOPPING] = STATE_ENDS,
	[SHIMOS_STOPPED] = BIT(SHIMOS_STARTING) | BIT(SHIMOS_STUCK),
	[SHIMOS_CRASHED] = BIT(SHIMOS_STARTING) | BIT(SHIMOS_STUCK),
	[SHIMOS_STUCK] = BIT(SHIMOS_STOPPED),
};

static const char *const state_cause_names[] = {
	[SHIMOS_CAUSE_NONE] = "none",
	[SHIMOS_CAUSE_POWEROFF] = "poweroff",
	[SHIMOS_CAUSE_REBOOT] = "reboot",
	[SHIMOS_CAUSE_HALT] = "halt",
	[SHIMOS_CAUSE_PANIC] = "panic",
	[SHIMOS_CAUSE_RESET] = "reset",
	[SHIMOS_CAUSE_KILLED] = "killed",
	[SHIMOS_CAUSE_FAULT] = "fault",
	[SHIMOS_CAUSE_FAILED] = "failed",
	[SHIMOS_CAUSE_CHANGED] = "changed",
};

/**
 * state_name() - what the user calls a state
 * @state: anything
 *
 * Context: any.
 */
const char *state_name(enum shimos_state state)
{
	return state < ARRAY_SIZE(state_names) && state_names[state] ?
	       state_names[state] : "unknown";
}

/**
 * state_cause_name() - what the user calls a cause
 * @cause: anything
 *
 * Context: any.
 */
const char *state_cause_name(enum shimos_cause cause)
{
	return cause < ARRAY_SIZE(state_cause_names) ? state_cause_names[cause] :
						       "unknown";
}

static bool state_may_follow(enum shimos_state from, enum shimos_state to)
{
	return state_steps[from] & BIT(to);
}

/**
 * state_check_step() - may the partition take this step?
 * @p: which
 * @to: the state after it
 * @c: why not
 *
 * Context: p->mutex is held.
 * Return: 0; -ENOENT: it is being removed; -EBUSY: not from its state.
 */
int state_check_step(struct partition *p, enum shimos_state to, struct complaint *c)
{
	if (p->gone)
		return shimos_refuse(c, -ENOENT, "'%s' is being removed", p->name);
	if (!state_may_follow(p->state, to))
		return shimos_refuse(c, -EBUSY, "'%s' is %s and cannot become %s",
				     p->name, state_name(p->state), state_name(to));
	return 0;
}

/**
 * state_refuse_stuck() - it is stuck: say what that means
 * @p: is stuck
 * @c: gets that
 *
 * Context: any.
 * Return: -EIO.
 */
int state_refuse_stuck(const struct partition *p, struct complaint *c)
{
	return shimos_refuse(c, -EIO,
			     "'%s' is stuck: a CPU or a device of it did not stop and may still write to its memory, which is kept; kill it again, and if that does not help, restart the machine",
			     p->name);
}

/**
 * state_is_up() - do CPUs run in it?
 * @p: any
 *
 * Context: any.
 */
bool state_is_up(const struct partition *p)
{
	enum shimos_state state = READ_ONCE(p->state);

	return state == SHIMOS_STARTING || state == SHIMOS_RUNNING ||
	       state == SHIMOS_STOPPING;
}

/**
 * state_event() - wake those who wait for the next event
 * @p: to which something has happened
 *
 * Context: p->mutex is held.
 */
void state_event(struct partition *p)
{
	lockdep_assert_held(&p->mutex);
	WRITE_ONCE(p->event, p->event + 1);
	wake_up_all(&p->event_wait);
	wake_up_all(&p->console_wait);
}

/* Scripts poll the attribute; udev rules want an event. */
static void state_tell_sysfs(struct partition *p)
{
	char state[40];
	char *env[2] = { state };

	if (!p->device)
		return;
	snprintf(state, sizeof(state), "SHIMOS_STATE=%s", state_name(p->state));
	sysfs_notify(&p->device->kobj, NULL, "state");
	kobject_uevent_env(&p->device->kobj, KOBJ_CHANGE, env);
}

/**
 * state_set() - it is in another state now
 * @p: the step has been checked
 * @state: which
 *
 * Context: may sleep; p->mutex is held.
 */
void state_set(struct partition *p, enum shimos_state state)
{
	lockdep_assert_held(&p->mutex);
	WARN_ON_ONCE(!state_may_follow(p->state, state));
	WRITE_ONCE(p->state, state);
	state_event(p);
	state_tell_sysfs(p);
}
