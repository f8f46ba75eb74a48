/* SPDX-License-Identifier: GPL-2.0 */
/* The types of the headers that the layer shares with others; no header of a kernel comes in here. */
#ifndef _LAYER_LINUX_TYPES_H
#define _LAYER_LINUX_TYPES_H

typedef unsigned char __u8;
typedef unsigned int __u32;
typedef unsigned long long __u64;

#endif
