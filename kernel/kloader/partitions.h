/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KLOADER_PARTITIONS_H
#define _KLOADER_PARTITIONS_H

/* All partitions in ascending order of id; see partition.c for its locks. */
extern struct list_head partitions;

#endif
