// SPDX-License-Identifier: GPL-2.0
/*
 * The life of a partition: which step may follow which, starting, stopping,
 * and noticing that it ended.
 *
 * A running partition tells of its end by doorbell.  One that has no agent yet
 * can only write to the reset register its ACPI tables name, and then waits
 * 15 ms before it tries what would reset the machine: until the agent reports,
 * a timer looks every 2 ms.
 */
#include <linux/ctype.h>
#include <linux/ktime.h>
#include <linux/rculist.h>
#include <linux/sched/signal.h>
#include <shimos/ikc.h>

#include "kloader.h"
#include "partitions.h"
#include "passthrough.h"

#define WATCH_BOOT_NS	(2 * NSEC_PER_MSEC)
#define WATCH_RUN_NS	(100 * NSEC_PER_MSEC)
/* How long to wait for I/O that goes on in the memory of a partition that ended. */
#define UNHELD_MS	20000

static const char *const state_names[] = {
	[SHIMOS_CREATED] = "created",
	[SHIMOS_LOADED] = "loaded",
	[SHIMOS_STARTING] = "starting",
	[SHIMOS_RUNNING] = "running",
	[SHIMOS_STOPPING] = "stopping",
	[SHIMOS_STOPPED] = "stopped",
	[SHIMOS_CRASHED] = "crashed",
};

/* state_steps[from] has a bit for each state that may follow. */
static const u16 state_steps[] = {
	[0] = BIT(SHIMOS_CREATED),
	[SHIMOS_CREATED] = BIT(SHIMOS_LOADED),
	[SHIMOS_LOADED] = BIT(SHIMOS_STARTING),
	[SHIMOS_STARTING] = BIT(SHIMOS_RUNNING) | BIT(SHIMOS_STOPPED) |
			    BIT(SHIMOS_CRASHED),
	[SHIMOS_RUNNING] = BIT(SHIMOS_STOPPING) | BIT(SHIMOS_STOPPED) |
			   BIT(SHIMOS_CRASHED),
	[SHIMOS_STOPPING] = BIT(SHIMOS_STOPPED) | BIT(SHIMOS_CRASHED),
	[SHIMOS_STOPPED] = BIT(SHIMOS_STARTING),
	[SHIMOS_CRASHED] = BIT(SHIMOS_STARTING),
};

static const char *const cause_names[] = {
	[SHIMOS_CAUSE_NONE] = "none",
	[SHIMOS_CAUSE_POWEROFF] = "poweroff",
	[SHIMOS_CAUSE_REBOOT] = "reboot",
	[SHIMOS_CAUSE_HALT] = "halt",
	[SHIMOS_CAUSE_PANIC] = "panic",
	[SHIMOS_CAUSE_RESET] = "reset",
	[SHIMOS_CAUSE_KILLED] = "killed",
};

const char *state_name(enum shimos_state state)
{
	return state < ARRAY_SIZE(state_names) && state_names[state] ?
	       state_names[state] : "unknown";
}

const char *cause_name(enum shimos_cause cause)
{
	return cause < ARRAY_SIZE(cause_names) ? cause_names[cause] : "unknown";
}

static bool may_follow(enum shimos_state from, enum shimos_state to)
{
	return state_steps[from] & BIT(to);
}

int life_check_step(struct partition *p, enum shimos_state to, struct complaint *c)
{
	if (p->gone)
		return refuse(c, -ENOENT, "'%s' is being removed", p->name);
	if (!may_follow(p->state, to))
		return refuse(c, -EBUSY, "'%s' is %s and cannot become %s",
			      p->name, state_name(p->state), state_name(to));
	return 0;
}

/* Do CPUs run in it? */
bool life_is_up(const struct partition *p)
{
	enum shimos_state state = READ_ONCE(p->state);

	return state == SHIMOS_STARTING || state == SHIMOS_RUNNING ||
	       state == SHIMOS_STOPPING;
}

/* Caller holds p->mutex and has checked the step. */
void life_set_state(struct partition *p, enum shimos_state state)
{
	lockdep_assert_held(&p->mutex);
	WARN_ON_ONCE(!may_follow(p->state, state));
	WRITE_ONCE(p->state, state);
	WRITE_ONCE(p->event, p->event + 1);
	wake_up_all(&p->event_wait);
	wake_up_all(&p->console_wait);
	sysfs_changed(p);
}

/* The peer's text, made safe to print; it may change while we look. */
static void copy_text(char *to, const char *from, size_t size)
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

static void reset_shared(struct partition *p)
{
	struct shimos_shared *shared = p->shared;
	struct shimos_last_log *log = (void *)shared + SHIMOS_LAST_LOG;
	struct shimos_console_in *in = (void *)shared + SHIMOS_CONSOLE_IN;

	/* the console's output stays: watchers go on reading after a restart */
	memset(shared, 0, SHIMOS_CONSOLE_OUT);
	log->length = 0;
	in->head = in->tail = p->input_head;
	strscpy(shared->name, p->name, sizeof(shared->name));
	shared->ikc_area = ikc_host_area();
	shared->ikc_kernel = p->ikc_kernel;
	shared->ikc_life = p->ikc_life;
	shared->watchers = atomic_read(&p->watchers);
	shared->size = SHIMOS_SHARED_SIZE;
	shared->version = SHIMOS_SHARED_VERSION;
	shared->magic = SHIMOS_SHARED_MAGIC;
	ikc_bell_get(&shared->host_bell);
}

/* Ring the agent.  Its bell may name only CPUs of its own. */
bool life_ring(struct partition *p)
{
	struct shimos_bell bell;

	return ikc_bell_read(&p->shared->bell, &bell) &&
	       kloader_arch->owns_cpu(p, bell.cpu) && ikc_bell_ring(&bell);
}

/*
 * Give I/O that was under way when it ended some time.  Not under p->mutex: others
 * want to ask about it, or to end the one it waits for.  May sleep.
 */
void life_wait_unheld(struct partition *p)
{
	if (!life_is_up(p))
		ikc_host_wait_unheld(p->ikc_kernel, UNHELD_MS);
}

/* Does no device of any kernel read or write its memory any more?  p->mutex. */
int life_check_unheld(struct partition *p, struct complaint *c)
{
	char name[IKC_NAME_LEN];
	int holder = ikc_host_wait_unheld(p->ikc_kernel, 0);

	if (holder < 0)
		return 0;
	ikc_kernel_name(holder, name);
	return refuse(c, -EBUSY,
		      "devices of '%s' still use the memory of '%s': I/O that was under way when it ended has not come back; try again when it has",
		      name, p->name);
}

static int start(struct partition *p, u32 flags, struct complaint *c)
{
	int ret;

	lockdep_assert_held(&p->mutex);
	ret = life_check_unheld(p, c) ?: passthrough_prepare(p, c);
	if (ret)
		return ret;
	ret = image_restage(p, c);
	if (ret)
		return ret;
	p->ikc_life = ikc_host_up(p->ikc_kernel);
	mutex_lock(&p->input_mutex);
	reset_shared(p);
	mutex_unlock(&p->input_mutex);
	ret = kloader_arch->stage(p, c);
	if (ret)
		goto ikc_down;
	p->message[0] = '\0';
	p->agent = 0;
	p->reset = SHIMOS_CAUSE_NONE;
	p->heartbeat = 0;
	p->ready_ns = 0;
	p->started_ns = p->heartbeat_ns = ktime_get_ns();
	ret = kloader_arch->start(p, c);
	if (ret)
		goto stop_cpus;
	p->cause = SHIMOS_CAUSE_NONE;
	p->starts++;
	life_set_state(p, SHIMOS_STARTING);
	if (flags & SHIMOS_START_NO_AGENT)
		life_set_state(p, SHIMOS_RUNNING);
	hrtimer_start(&p->watch, WATCH_BOOT_NS, HRTIMER_MODE_REL);
	return 0;

stop_cpus:
	p->cpus_stuck = kloader_arch->park(p) != 0;
	passthrough_quiesce(p);
ikc_down:
	ikc_host_down(p->ikc_kernel, p->cpus_stuck);
	return ret;
}

int life_start(struct partition *p, u32 flags, struct complaint *c)
{
	int ret;

	life_wait_unheld(p);
	mutex_lock(&p->mutex);
	ret = life_check_step(p, SHIMOS_STARTING, c);
	if (!ret && p->cpus_stuck)
		ret = refuse(c, -EIO, "a CPU of '%s' does not answer INIT", p->name);
	if (!ret)
		ret = start(p, flags, c);
	mutex_unlock(&p->mutex);
	if (ret)
		return ret;
	mutex_lock(&kloader_mutex);
	p->session = NULL;	/* from now on it lives by itself */
	mutex_unlock(&kloader_mutex);
	return 0;
}

/* The partition is over, or shall be: take its CPUs away and say why. */
static void end(struct partition *p, enum shimos_cause cause)
{
	bool crashed = cause == SHIMOS_CAUSE_PANIC || cause == SHIMOS_CAUSE_RESET;

	lockdep_assert_held(&p->mutex);
	p->cpus_stuck = kloader_arch->park(p) != 0;
	/* nobody drives them any more, and nobody uses its memory yet */
	passthrough_quiesce(p);
	ikc_host_down(p->ikc_kernel, p->cpus_stuck);
	hrtimer_cancel(&p->watch);
	kloader_arch->restore_legacy();
	copy_text(p->message, p->shared->message, sizeof(p->message));
	p->cause = cause;
	life_set_state(p, crashed ? SHIMOS_CRASHED : SHIMOS_STOPPED);
	pr_info("%s: %s (%s)%s%s\n", p->name, state_name(p->state),
		cause_name(cause), p->message[0] ? ": " : "", p->message);
}

int life_kill(struct partition *p, struct complaint *c)
{
	int ret = 0;

	mutex_lock(&p->mutex);
	if (!life_is_up(p))
		ret = refuse(c, -EBUSY, "'%s' does not run: it is %s", p->name,
			     state_name(p->state));
	else
		end(p, SHIMOS_CAUSE_KILLED);
	mutex_unlock(&p->mutex);
	return ret;
}

/* The host goes down: no CPU may run on under it.  May sleep. */
void life_kill_all(void)
{
	struct complaint c;
	struct partition *p;
	u32 id = 0;

	while ((p = partition_get(id, true))) {
		id = p->id;
		life_kill(p, &c);	/* refused if it does not run: fine */
		partition_put(p);
	}
}

bool life_any_up(void)
{
	struct partition *p;
	bool up = false;

	rcu_read_lock();
	list_for_each_entry_rcu(p, &partitions, link)
		up |= life_is_up(p);
	rcu_read_unlock();
	return up;
}

int life_stop(struct partition *p, struct complaint *c)
{
	int ret;

	mutex_lock(&p->mutex);
	ret = life_check_step(p, SHIMOS_STOPPING, c);
	if (ret)
		goto unlock;
	WRITE_ONCE(p->shared->request, SHIMOS_REQUEST_POWEROFF);
	smp_wmb();	/* the agent reads the request after the ring */
	if (!p->agent || !life_ring(p)) {
		ret = refuse(c, -ENOTCONN, "'%s' has no agent that could be asked: kill it",
			     p->name);
		goto unlock;
	}
	life_set_state(p, SHIMOS_STOPPING);
unlock:
	mutex_unlock(&p->mutex);
	return ret;
}

static void became_ready(struct partition *p)
{
	p->agent = READ_ONCE(p->shared->agent_version);
	p->ready_ns = p->heartbeat_ns = ktime_get_ns();
	kloader_arch->restore_legacy();
	life_set_state(p, SHIMOS_RUNNING);
}

static void restart_after_reboot(struct partition *p)
{
	struct complaint c = {};
	int ret = 0;

	life_wait_unheld(p);
	mutex_lock(&p->mutex);
	/* unless somebody was quicker */
	if (!p->gone && p->state == SHIMOS_STOPPED)
		ret = start(p, 0, &c);
	mutex_unlock(&p->mutex);
	if (ret)
		pr_err("%s: not started again after its reboot: %s\n", p->name,
		       c.text);
}

static void life_work(struct work_struct *work)
{
	struct partition *p = container_of(work, struct partition, work);
	enum shimos_cause cause;
	bool again = false;

	mutex_lock(&p->mutex);
	if (p->gone || !life_is_up(p))
		goto unlock;
	if (p->state == SHIMOS_STARTING && READ_ONCE(p->shared->ready))
		became_ready(p);
	cause = READ_ONCE(p->shared->cause);
	if (!cause)
		cause = p->reset;
	if (cause >= SHIMOS_CAUSE_KILLED)	/* not for the peer to say */
		cause = SHIMOS_CAUSE_RESET;
	if (cause) {
		end(p, cause);
		again = cause == SHIMOS_CAUSE_REBOOT && !p->cpus_stuck &&
			p->flags & SHIMOS_CREATE_RESTART;
	}
unlock:
	mutex_unlock(&p->mutex);
	if (again)
		restart_after_reboot(p);
}

static enum hrtimer_restart life_watch(struct hrtimer *timer)
{
	struct partition *p = container_of(timer, struct partition, watch);
	u32 heartbeat = READ_ONCE(p->shared->heartbeat);

	if (!life_is_up(p))
		return HRTIMER_NORESTART;
	p->reset = kloader_arch->reset_requested(p);
	if (p->reset) {
		kloader_arch->halt(p);		/* the work may come too late */
		queue_work(system_highpri_wq, &p->work);
		return HRTIMER_NORESTART;
	}
	if (heartbeat != p->heartbeat) {
		p->heartbeat = heartbeat;
		WRITE_ONCE(p->heartbeat_ns, ktime_get_ns());
	}
	hrtimer_forward_now(timer, READ_ONCE(p->agent) ? WATCH_RUN_NS : WATCH_BOOT_NS);
	return HRTIMER_RESTART;
}

/* Hard interrupt: somebody rang; nobody says who. */
void life_rang(void)
{
	struct partition *p;

	list_for_each_entry_rcu(p, &partitions, link) {
		if (!life_is_up(p))
			continue;
		if (READ_ONCE(p->shared->cause) ||
		    (p->state == SHIMOS_STARTING && READ_ONCE(p->shared->ready)))
			queue_work(system_highpri_wq, &p->work);
		console_rang(p);
	}
}

/* Hard interrupt: tell every partition where the host's bell is now. */
void life_bell_moved(const struct shimos_bell *bell)
{
	struct partition *p;

	list_for_each_entry_rcu(p, &partitions, link) {
		if (life_is_up(p))
			ikc_bell_publish(&p->shared->host_bell, bell);
	}
}

void life_init(struct partition *p)
{
	INIT_WORK(&p->work, life_work);
	hrtimer_init(&p->watch, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	p->watch.function = life_watch;
}

/* It is off the list and does not run: wait for what was still under way. */
void life_quiesce(struct partition *p)
{
	hrtimer_cancel(&p->watch);
	cancel_work_sync(&p->work);
}
