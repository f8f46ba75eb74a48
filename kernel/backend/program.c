// SPDX-License-Identifier: GPL-2.0
/*
 * Devices that a program serves: for kinds of devices that well-kept programs and
 * drivers serve already, to virtual machines (vhost-user daemons, vhost of Linux).
 *
 * The program hears of the driver's start and stop, maps the user's memory, and works
 * on the rings by itself; doorbells reach it as eventfds.
 */
#include <linux/file.h>
#include <linux/log2.h>
#include <linux/slab.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>
#include <shimos/compat.h>

#include "program.h"

/* In which a program answers. */
#define PROGRAM_TIMEOUT	(10 * HZ)
#define PROGRAM_NEEDS	(BIT_ULL(VIRTIO_F_VERSION_1) | BIT_ULL(VIRTIO_RING_F_EVENT_IDX) | \
			 BIT_ULL(VIRTIO_RING_F_INDIRECT_DESC))

static void program_free(struct kref *ref)
{
	struct program *program = container_of(ref, struct program, ref);

	program_events_clear(program);
	backend_put(program->backend);
	kfree(program);
}

void program_put(struct program *program)
{
	kref_put(&program->ref, program_free);
}

/* ---- with the user's driver ---- */

/* Have the program do something; returns when it has. */
static int program_ask(struct program *program, enum shimos_program_event event)
{
	u32 sequence;
	bool answered;
	int ret;

	mutex_lock(&program->mutex);
	program->event = event;
	sequence = program->sequence + 1;
	WRITE_ONCE(program->sequence, sequence);
	mutex_unlock(&program->mutex);
	wake_up_all(&program->asked);
	wait_event_timeout(program->asked, READ_ONCE(program->answered) == sequence ||
			   READ_ONCE(program->closed), PROGRAM_TIMEOUT);
	mutex_lock(&program->mutex);
	answered = program->answered == sequence;
	ret = answered ? program->error : program->closed ? -ESHUTDOWN : -ETIMEDOUT;
	/* too late from now on */
	WRITE_ONCE(program->answered, sequence);
	mutex_unlock(&program->mutex);
	return ret;
}

static void program_set_serving(struct program *program, bool serving)
{
	spin_lock_irq(&program->call_lock);
	program->serving = serving;
	spin_unlock_irq(&program->call_lock);
}

static void program_stop(struct backend *b)
{
	struct program *program = b->private;

	if (program_ask(program, SHIMOS_PROGRAM_STOP) == -ETIMEDOUT)
		pr_warn("%s for %s: its program does not stop; the memory is taken away from it\n",
			b->name, b->user_name);
	program_set_serving(program, false);
	program_memory_revoke(program);
}

static int program_start(struct backend *b)
{
	struct program *program = b->private;
	int ret;

	mutex_lock(&program->mutex);
	program->reachable = true;
	mutex_unlock(&program->mutex);
	program_set_serving(program, true);
	ret = program_ask(program, SHIMOS_PROGRAM_START);
	if (ret) {
		program_set_serving(program, false);
		program_memory_revoke(program);
	}
	return ret;
}

static void program_kicked(struct backend *b, unsigned int n)
{
	program_kick(b->private, n);
}

static void program_status(struct backend *b, struct shimos_dev_status *out)
{
}

static void program_release(struct backend *b)
{
	struct program *program = b->private;

	WRITE_ONCE(program->gone, true);
	wake_up_all(&program->asked);
	program_put(program);
}

#define PROGRAM_OPS(_type) {			\
	.type		= _type,		\
	.start		= program_start,	\
	.stop		= program_stop,		\
	.kick		= program_kicked,	\
	.status		= program_status,	\
	.release	= program_release,	\
}

static const struct backend_ops program_ops[] = {
	PROGRAM_OPS(SHIMOS_DEV_VSOCK),
	PROGRAM_OPS(SHIMOS_DEV_FS),
};

/* ---- adding ---- */

static const struct backend_ops *program_find_ops(u32 type)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(program_ops); i++)
		if (program_ops[i].type == type)
			return &program_ops[i];
	return NULL;
}

static int program_check(const struct shimos_dev_add_program *arg, struct complaint *c)
{
	if (!arg->user || ikc_self_number())
		return shimos_refuse(c, -EOPNOTSUPP,
				     "programs serve devices on the host, for partitions");
	if (!program_find_ops(arg->type))
		return shimos_refuse(c, -EINVAL,
				     "virtio type %u is none that a program can serve", arg->type);
	if (!arg->queues || arg->queues > SHIMOS_PROGRAM_QUEUES)
		return shimos_refuse(c, -EINVAL, "a program serves 1 to %u virtqueues, not %u",
				     SHIMOS_PROGRAM_QUEUES, arg->queues);
	if (!is_power_of_2(arg->ring) || arg->ring > SHIMOS_VIRTIO_RING)
		return shimos_refuse(c, -EINVAL, "a ring has a power of two of places, at most %u",
				     SHIMOS_VIRTIO_RING);
	if (arg->config_len > SHIMOS_PROGRAM_CONFIG)
		return shimos_refuse(c, -EINVAL, "a configuration space has at most %u bytes",
				     SHIMOS_PROGRAM_CONFIG);
	if ((arg->features & PROGRAM_NEEDS) != PROGRAM_NEEDS)
		return shimos_refuse(c, -EINVAL,
				     "the program does not know VERSION_1, EVENT_IDX or INDIRECT_DESC of virtio, which are needed");
	return 0;
}

/* The file comes last, for closing it removes the device. */
static int program_announce(struct program *program, struct shimos_dev_add_program *arg,
			    struct complaint *c)
{
	struct backend *b = program->backend;
	struct file *file;
	int fd, ret;

	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	ret = backend_announce(b);
	if (ret) {
		shimos_refuse(c, ret, "%s has %u devices, which is the most", b->user_name,
			      SHIMOS_DEV_PER_USER);
		goto put_fd;
	}
	kref_get(&program->ref);	/* the device's */
	file = program_file_make(program);
	if (IS_ERR(file)) {
		ret = PTR_ERR(file);
		backend_remove(b, true, c);
		goto put_fd;
	}
	fd_install(fd, file);
	arg->fd = fd;
	arg->id = b->id;
	return 0;

put_fd:
	put_unused_fd(fd);
	return ret;
}

int program_add(struct shimos_dev_add_program *arg, struct complaint *c)
{
	struct program *program;
	int ret = program_check(arg, c);

	if (ret)
		return ret;
	program = kzalloc(sizeof(*program), GFP_KERNEL);
	if (!program)
		return -ENOMEM;
	program->backend = backend_new(program_find_ops(arg->type), arg->user, arg->name);
	if (!program->backend) {
		kfree(program);
		return -ENOMEM;
	}
	kref_init(&program->ref);
	shimos_door_open(&program->session);
	init_waitqueue_head(&program->asked);
	mutex_init(&program->mutex);
	spin_lock_init(&program->kick_lock);
	spin_lock_init(&program->call_lock);
	program_memory_init(program);
	program_events_init(program);
	program->backend->private = program;
	program->backend->queues = arg->queues;
	program->backend->ring_size = arg->ring;
	program->backend->features = arg->features;
	program->backend->config_len = arg->config_len;
	memcpy(program->backend->config, arg->config, arg->config_len);
	ret = program_announce(program, arg, c);
	program_put(program);
	return ret;
}
