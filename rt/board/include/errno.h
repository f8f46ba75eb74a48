/* SPDX-License-Identifier: GPL-2.0 */
/* Linux's numbers of the errors that IKC knows. */
#ifndef _RT_ERRNO_H
#define _RT_ERRNO_H

#define EPERM		1
#define EAGAIN		11
#define ENOMEM		12
#define EFAULT		14
#define EBUSY		16
#define ENODEV		19
#define EINVAL		22
#define EPIPE		32
#define EPROTO		71
#define EBADMSG		74
#define EMSGSIZE	90
#define ENOTCONN	107
#define EHOSTDOWN	112
#define EALREADY	114

#endif
