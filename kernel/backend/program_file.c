// SPDX-License-Identifier: GPL-2.0
/* Devices that a program serves: the descriptor by which it does (uapi/shimos_program.h). */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/io.h>

#include "program.h"

static void program_describe_ring(struct shimos_program_ring *out, const struct vqueue *v)
{
	if (!v->size)
		return;
	out->desc = virt_to_phys(v->desc);
	out->avail = virt_to_phys(v->avail);
	out->used = virt_to_phys(v->used);
	out->size = v->size;
}

static void program_describe(struct shimos_program_next *out, const struct backend *b)
{
	unsigned int i;

	out->features = b->accepted;
	out->ranges = b->memory.ranges;
	out->queues = b->queues;
	for (i = 0; i < b->memory.ranges; i++)
		out->range[i] = (struct shimos_program_range){
			.start = b->memory.range[i].start,
			.size = b->memory.range[i].size,
		};
	for (i = 0; i < b->queues; i++)
		program_describe_ring(&out->ring[i], &b->ring[i].v);
}

static bool program_has_more(const struct program *program)
{
	return READ_ONCE(program->answered) != READ_ONCE(program->sequence);
}

static int program_ioctl_next(void *context, void *arg, struct complaint *c)
{
	struct program *program = context;
	struct shimos_program_next *out = arg;

	*out = (struct shimos_program_next){ .hdr = out->hdr };
	mutex_lock(&program->mutex);
	if (program_has_more(program)) {
		out->event = program->event;
		out->sequence = program->sequence;
		/* who asks has the rings ready, and waits */
		if (program->reachable)
			program_describe(out, program->backend);
	}
	mutex_unlock(&program->mutex);
	return 0;
}

static int program_ioctl_answer(void *context, void *data, struct complaint *c)
{
	const struct shimos_program_answer *arg = data;
	struct program *program = context;
	int ret = 0;

	if (arg->error > MAX_ERRNO)
		return shimos_refuse(c, -EINVAL, "%u is no errno", arg->error);
	mutex_lock(&program->mutex);
	if (arg->sequence != program->sequence || !program_has_more(program)) {
		ret = shimos_refuse(c, -ESTALE, "that is not asked any more");
	} else {
		program->error = -(int)arg->error;
		WRITE_ONCE(program->answered, program->sequence);
	}
	mutex_unlock(&program->mutex);
	wake_up_all(&program->asked);
	return ret;
}

static int program_ioctl_events(void *context, void *data, struct complaint *c)
{
	const struct shimos_program_events *arg = data;
	struct program *program = context;
	int ret = shimos_door_check_reserved(arg->reserved, c);

	if (ret)
		return ret;
	mutex_lock(&program->mutex);
	ret = program_events_set(program, arg, c);
	mutex_unlock(&program->mutex);
	return ret;
}

static int program_ioctl_memory(void *context, void *data, struct complaint *c)
{
	struct shimos_program_memory *arg = data;
	int ret = shimos_door_check_reserved(arg->reserved, c);

	if (ret)
		return ret;
	ret = program_memory_open(context);
	if (ret < 0)
		return ret;
	arg->fd = ret;
	return 0;
}

static const struct shimos_door_call program_calls[] = {
	{ SHIMOS_PROGRAM_IOC_NEXT, "next", 0, program_ioctl_next },
	{ SHIMOS_PROGRAM_IOC_ANSWER, "answer", 0, program_ioctl_answer },
	{ SHIMOS_PROGRAM_IOC_EVENTS, "events", 0, program_ioctl_events },
	{ SHIMOS_PROGRAM_IOC_MEMORY, "memory", 0, program_ioctl_memory },
};

static const struct shimos_door program_door = {
	.module		= KBUILD_MODNAME,
	.version	= SHIMOS_DEV_VERSION,
	.error		= SHIMOS_DEV_IOC_ERROR,
	.calls		= program_calls,
	.count		= ARRAY_SIZE(program_calls),
};

static long program_ioctl(struct file *file, unsigned int cmd, unsigned long ptr)
{
	struct program *program = file->private_data;

	return shimos_door_ioctl(&program_door, &program->session, program, cmd, ptr);
}

static __poll_t program_poll(struct file *file, poll_table *wait)
{
	struct program *program = file->private_data;
	__poll_t mask = 0;

	poll_wait(file, &program->asked, wait);
	if (program_has_more(program))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (READ_ONCE(program->gone))
		mask |= EPOLLHUP;
	return mask;
}

/* Its program is gone, however it ended: so is the device. */
static int program_release(struct inode *inode, struct file *file)
{
	struct program *program = file->private_data;
	struct complaint c;

	mutex_lock(&program->mutex);
	program->closed = true;
	mutex_unlock(&program->mutex);
	wake_up_all(&program->asked);
	backend_remove(program->backend, true, &c);
	program_put(program);
	return 0;
}

static const struct file_operations program_fops = {
	.owner		= THIS_MODULE,
	.unlocked_ioctl	= program_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.poll		= program_poll,
	.release	= program_release,
};

struct file *program_file_make(struct program *program)
{
	struct file *file = anon_inode_getfile("[shimos-program]", &program_fops, program, O_RDWR);

	if (!IS_ERR(file))
		kref_get(&program->ref);
	return file;
}
