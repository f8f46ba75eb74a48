/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * What all calls of /dev/shimos have in common.
 *
 * Every argument starts with struct shimos_header.  A caller fills in the size
 * and the version it was built with; anything else is refused with -EPROTO, the
 * right ones in their places, and a text that names both.  SHIMOS_IOC_ERROR reads
 * the text of the last refusal on the same open file, whatever version the caller
 * has.  All reserved fields must be zero.
 */
#ifndef _UAPI_SHIMOS_CALL_H
#define _UAPI_SHIMOS_CALL_H

#include <linux/types.h>

#define SHIMOS_ABI_VERSION	10
#define SHIMOS_ERROR_LEN	512	/* with the final NUL */

/**
 * struct shimos_header - begins every argument
 * @size: sizeof the whole argument; out on -EPROTO
 * @version: SHIMOS_ABI_VERSION; out on -EPROTO
 */
struct shimos_header {
	__u32 size;
	__u32 version;
};

/**
 * struct shimos_error - SHIMOS_IOC_ERROR: why the last call on this open file was refused
 * @hdr: of the argument
 * @text: out: NUL-terminated, may be empty
 */
struct shimos_error {
	struct shimos_header hdr;
	char text[SHIMOS_ERROR_LEN];
};

#endif
