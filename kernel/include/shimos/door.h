/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The one door for ioctls: how calls are found, versions compared, arguments
 * copied and refusals told, the same in all modules.
 *
 * Every argument starts with struct shimos_door_header.  A call is known by its
 * type and number alone, because another version may have another size.  A header
 * with another size or version is refused with -EPROTO; the right ones are written
 * back to it, and a text names both.
 */
#ifndef _SHIMOS_DOOR_H
#define _SHIMOS_DOOR_H

#include <linux/mutex.h>
#include <linux/types.h>
#include <shimos/complaint.h>

/**
 * struct shimos_door_header - what each interface's own header looks like
 * @size: of the whole argument
 * @version: of the interface that the caller was built with
 */
struct shimos_door_header {
	u32 size;
	u32 version;
};

/**
 * struct shimos_door_error - the argument of the call that reads the text, in each interface
 * @hdr: any version may ask
 * @text: out: NUL-terminated, may be empty
 */
struct shimos_door_error {
	struct shimos_door_header hdr;
	char text[SHIMOS_COMPLAINT_LEN];
};

/* The text of the last refusal stays as it is: the call may last, beside others. */
#define SHIMOS_DOOR_QUIET	BIT(0)

/**
 * struct shimos_door_call - one call
 * @cmd: its number, direction and size, as the header in uapi defines it
 * @name: for texts
 * @flags: SHIMOS_DOOR_*
 * @run: does it; @context is the door's user's, @arg a copy of the argument that
 *       goes back to the caller on success if @cmd says so.  May sleep.  Calls on
 *       one file may run at the same time.
 */
struct shimos_door_call {
	unsigned int cmd;
	const char *name;
	u32 flags;
	int (*run)(void *context, void *arg, struct complaint *c);
};

/**
 * struct shimos_door - an interface
 * @module: who answers, for texts
 * @version: of the interface
 * @error: the call that reads the text of the last refusal; any version may
 * @calls: all others
 * @count: how many
 * @enter: may calls run now? 0 or an error; optional
 * @leave: the counterpart of @enter
 */
struct shimos_door {
	const char *module;
	u32 version;
	unsigned int error;
	const struct shimos_door_call *calls;
	unsigned int count;
	int (*enter)(void *context);
	void (*leave)(void *context);
};

/**
 * struct shimos_door_session - what an open file keeps
 * @mutex: guards @last
 * @last: of the last call that was refused
 */
struct shimos_door_session {
	struct mutex mutex;
	struct complaint last;
};

/**
 * shimos_door_open() - a file was opened: nothing was refused yet
 * @session: the open file's
 *
 * Context: any.
 */
void shimos_door_open(struct shimos_door_session *session);

/**
 * shimos_door_check_flags() - for calls: are there no flags that nobody knows?
 * @flags: as the caller says them
 * @known: all that mean something
 * @c: gets a text
 *
 * Context: any.
 * Return: 0 or -EINVAL.
 */
int shimos_door_check_flags(u32 flags, u32 known, struct complaint *c);

/**
 * shimos_door_check_reserved() - for calls: is a field zero that has to be?
 * @reserved: the field
 * @c: gets a text
 *
 * Context: any.
 * Return: 0 or -EINVAL.
 */
int shimos_door_check_reserved(u32 reserved, struct complaint *c);

/**
 * shimos_door_ioctl() - find a call, check it, run it
 * @door: the interface
 * @session: the open file's
 * @context: handed to the call
 * @cmd: as given by the caller
 * @ptr: the caller's argument
 *
 * Context: process; may sleep as long as the call does.
 * Return: what the call returns; -ENOTTY: no such call; -EPROTO: another version or
 * size; -EFAULT, -ENOMEM.
 */
long shimos_door_ioctl(const struct shimos_door *door, struct shimos_door_session *session,
		       void *context, unsigned int cmd, unsigned long ptr);

#endif
