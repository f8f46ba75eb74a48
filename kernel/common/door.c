// SPDX-License-Identifier: GPL-2.0
/* The one door for ioctls; each module that has a device has this file linked in. */
#include <linux/ioctl.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <shimos/door.h>

void shimos_door_open(struct shimos_door_session *session)
{
	mutex_init(&session->mutex);
}

static bool shimos_door_same(unsigned int a, unsigned int b)
{
	return _IOC_TYPE(a) == _IOC_TYPE(b) && _IOC_NR(a) == _IOC_NR(b);
}

static const struct shimos_door_call *shimos_door_find(const struct shimos_door *door,
						       unsigned int cmd)
{
	unsigned int i;

	for (i = 0; i < door->count; i++)
		if (shimos_door_same(door->calls[i].cmd, cmd))
			return &door->calls[i];
	return NULL;
}

/* The frozen call: whatever version the caller has, it can read why it is refused. */
static int shimos_door_tell(const struct shimos_door *door,
			    struct shimos_door_session *session, void __user *user)
{
	struct shimos_door_error *error = memdup_user(user, sizeof(*error));
	int ret = 0;

	if (IS_ERR(error))
		return PTR_ERR(error);
	if (error->hdr.size != sizeof(*error)) {
		ret = -EPROTO;
	} else {
		error->hdr.version = door->version;
		mutex_lock(&session->mutex);
		memcpy(error->text, session->last.text, sizeof(error->text));
		mutex_unlock(&session->mutex);
		if (copy_to_user(user, error, sizeof(*error)))
			ret = -EFAULT;
	}
	kfree(error);
	return ret;
}

static int shimos_door_check(const struct shimos_door *door,
			     const struct shimos_door_call *call, void __user *user,
			     struct complaint *c)
{
	struct shimos_door_header right = { _IOC_SIZE(call->cmd), door->version }, hdr;

	if (copy_from_user(&hdr, user, sizeof(hdr)))
		return -EFAULT;
	if (hdr.size == right.size && hdr.version == right.version)
		return 0;
	if (copy_to_user(user, &right, sizeof(right)))
		return -EFAULT;
	return shimos_refuse(c, -EPROTO,
			     "'%s' has %u bytes in the caller's version %u of the interface, and %u bytes in version %u of module %s: install the same release of both",
			     call->name, hdr.size, hdr.version, right.size, right.version,
			     door->module);
}

static int shimos_door_run(const struct shimos_door *door,
			   const struct shimos_door_call *call, void *context,
			   void __user *user, struct complaint *c)
{
	size_t size = _IOC_SIZE(call->cmd);
	void *arg;
	int ret;

	ret = shimos_door_check(door, call, user, c);
	if (ret)
		return ret;
	arg = memdup_user(user, size);
	if (IS_ERR(arg))
		return PTR_ERR(arg);
	ret = door->enter ? door->enter(context) : 0;
	if (!ret) {
		ret = call->run(context, arg, c);
		if (door->leave)
			door->leave(context);
	}
	if (ret >= 0 && _IOC_DIR(call->cmd) & _IOC_READ && copy_to_user(user, arg, size))
		ret = -EFAULT;
	kfree(arg);
	return ret;
}

int shimos_door_check_flags(u32 flags, u32 known, struct complaint *c)
{
	if (flags & ~known)
		return shimos_refuse(c, -EINVAL, "unknown flags %#x", flags & ~known);
	return 0;
}

int shimos_door_check_reserved(u32 reserved, struct complaint *c)
{
	if (reserved)
		return shimos_refuse(c, -EINVAL, "a reserved field is not zero");
	return 0;
}

long shimos_door_ioctl(const struct shimos_door *door, struct shimos_door_session *session,
		       void *context, unsigned int cmd, unsigned long ptr)
{
	const struct shimos_door_call *call;
	void __user *user = (void __user *)ptr;
	struct complaint *c;
	long ret;

	if (shimos_door_same(door->error, cmd))
		return shimos_door_tell(door, session, user);
	call = shimos_door_find(door, cmd);
	if (!call)
		return -ENOTTY;
	c = kzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return -ENOMEM;
	ret = shimos_door_run(door, call, context, user, c);
	if (ret < 0 && !(call->flags & SHIMOS_DOOR_QUIET)) {
		mutex_lock(&session->mutex);
		session->last = *c;
		mutex_unlock(&session->mutex);
	}
	kfree(c);
	return ret;
}
