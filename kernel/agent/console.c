// SPDX-License-Identifier: GPL-2.0
/*
 * The partition's console: a tty and a kernel console over the rings in the
 * area shared with KLoader.  Output is never refused and never waits: when the
 * ring is full the oldest bytes go.
 */
#include <linux/console.h>
#include <linux/module.h>
#include <linux/spinlock.h>
#include <linux/tty.h>
#include <linux/tty_driver.h>
#include <linux/tty_flip.h>
#include <linux/workqueue.h>
#include <shimos/compat.h>

#include "agent.h"

#define NAME	"ttyIKC"

static struct shimos_console_out *agent_out;
static struct shimos_console_in *agent_in;
static struct tty_driver *agent_tty_driver;
static struct tty_port agent_tty_port;
/* Guards out->head and the bytes behind it, among this kernel's CPUs. */
static DEFINE_RAW_SPINLOCK(agent_out_lock);

static void agent_put(const u8 *from, size_t count)
{
	u64 head = agent_out->head;
	size_t i;

	for (i = 0; i < count; i++)
		agent_out->data[(head + i) % SHIMOS_CONSOLE_OUT_LEN] = from[i];
	/* pairs with KLoader's load of head before it reads the bytes */
	smp_store_release(&agent_out->head, head + count);
}

static void agent_notify_host(void)
{
	if (READ_ONCE(agent_shared->watchers))
		agent_ring_host();
}

/* What printk writes has bare newlines. */
static void agent_put_lines(const char *text, unsigned int count)
{
	unsigned int start, end;

	for (start = 0; start < count; start = end) {
		for (end = start; end < count && text[end] != '\n'; end++)
			;
		agent_put(text + start, end - start);
		if (end < count) {
			agent_put("\r\n", 2);
			end++;
		}
	}
}

static void agent_console_put(struct console *con, const char *text, unsigned int count)
{
	unsigned long flags;

	local_irq_save(flags);
	if (!oops_in_progress) {
		raw_spin_lock(&agent_out_lock);
		agent_put_lines(text, count);
		raw_spin_unlock(&agent_out_lock);
	} else if (raw_spin_trylock(&agent_out_lock)) {
		agent_put_lines(text, count);
		raw_spin_unlock(&agent_out_lock);
	} else {
		/* the CPU that holds it may stand still for ever */
		agent_put_lines(text, count);
	}
	local_irq_restore(flags);
	agent_notify_host();
}

static struct tty_driver *agent_console_device(struct console *con, int *index)
{
	*index = con->index;
	return agent_tty_driver;
}

static struct console agent_console = {
	.name	= NAME,
	.write	= agent_console_put,
	.device	= agent_console_device,
	.flags	= CON_PRINTBUFFER | CON_ANYTIME,
	.index	= 0,
};

static compat_tty_ssize agent_tty_write(struct tty_struct *tty, const unsigned char *from,
					compat_tty_size count)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&agent_out_lock, flags);
	agent_put(from, count);
	raw_spin_unlock_irqrestore(&agent_out_lock, flags);
	agent_notify_host();
	return count;
}

static unsigned int agent_tty_write_room(struct tty_struct *tty)
{
	return SHIMOS_CONSOLE_OUT_LEN / 2;
}

static int agent_tty_open(struct tty_struct *tty, struct file *file)
{
	return tty_port_open(&agent_tty_port, tty, file);
}

static void agent_tty_close(struct tty_struct *tty, struct file *file)
{
	tty_port_close(&agent_tty_port, tty, file);
}

static void agent_tty_hangup(struct tty_struct *tty)
{
	tty_port_hangup(&agent_tty_port);
}

/* Take what was typed.  What the tty has no room for stays in the ring. */
static void agent_take_input(struct work_struct *work)
{
	u64 tail = agent_in->tail;
	/* pairs with KLoader's store of head behind the bytes */
	u64 waiting = smp_load_acquire(&agent_in->head) - tail;
	bool was_full = waiting == SHIMOS_CONSOLE_IN_LEN;
	u64 i;

	if (!waiting || waiting > SHIMOS_CONSOLE_IN_LEN)
		return;
	for (i = 0; i < waiting; i++)
		if (!tty_insert_flip_char(&agent_tty_port, agent_in->data[(tail + i) % SHIMOS_CONSOLE_IN_LEN],
					  TTY_NORMAL))
			break;
	/* pairs with KLoader's load of tail before it writes over the bytes */
	smp_store_release(&agent_in->tail, tail + i);
	tty_flip_buffer_push(&agent_tty_port);
	if (was_full)
		agent_ring_host();
}
static DECLARE_WORK(agent_input_work, agent_take_input);

/**
 * agent_console_rang() - KLoader has rung: there may be input
 *
 * Context: any; the input is read in a work.
 */
void agent_console_rang(void)
{
	if (READ_ONCE(agent_in->head) != agent_in->tail)
		schedule_work(&agent_input_work);
}

/* The reader caught up: there is room for what had to stay in the ring. */
static void agent_tty_unthrottle(struct tty_struct *tty)
{
	schedule_work(&agent_input_work);
}

static const struct tty_operations agent_tty_ops = {
	.open		= agent_tty_open,
	.close		= agent_tty_close,
	.hangup		= agent_tty_hangup,
	.write		= agent_tty_write,
	.write_room	= agent_tty_write_room,
	.unthrottle	= agent_tty_unthrottle,
};

static const struct tty_port_operations agent_tty_port_ops = {};

/**
 * agent_console_init() - make the console's terminal, and have the log written there
 *
 * Context: process; after agent_shared_map().
 * Return: 0 or why it cannot be; then nothing is left.
 */
int agent_console_init(void)
{
	struct device *device;
	int ret;

	agent_out = (void *)agent_shared + SHIMOS_CONSOLE_OUT;
	agent_in = (void *)agent_shared + SHIMOS_CONSOLE_IN;
	agent_tty_driver = tty_alloc_driver(1, TTY_DRIVER_REAL_RAW | TTY_DRIVER_DYNAMIC_DEV);
	if (IS_ERR(agent_tty_driver))
		return PTR_ERR(agent_tty_driver);
	agent_tty_driver->driver_name = "shimos";
	agent_tty_driver->name = NAME;
	agent_tty_driver->type = TTY_DRIVER_TYPE_CONSOLE;
	agent_tty_driver->init_termios = tty_std_termios;
	tty_set_operations(agent_tty_driver, &agent_tty_ops);
	tty_port_init(&agent_tty_port);
	agent_tty_port.ops = &agent_tty_port_ops;
	ret = tty_register_driver(agent_tty_driver);
	if (ret)
		goto put_driver;
	device = tty_port_register_device(&agent_tty_port, agent_tty_driver, 0, NULL);
	if (IS_ERR(device)) {
		ret = PTR_ERR(device);
		goto unregister;
	}
	register_console(&agent_console);
	return 0;

unregister:
	tty_unregister_driver(agent_tty_driver);
put_driver:
	tty_port_destroy(&agent_tty_port);
	tty_driver_kref_put(agent_tty_driver);
	return ret;
}

/**
 * agent_console_exit() - take the console away
 *
 * Context: process; may sleep.
 */
void agent_console_exit(void)
{
	unregister_console(&agent_console);
	tty_port_unregister_device(&agent_tty_port, agent_tty_driver, 0);
	tty_unregister_driver(agent_tty_driver);
	cancel_work_sync(&agent_input_work);
	tty_port_destroy(&agent_tty_port);
	tty_driver_kref_put(agent_tty_driver);
}
