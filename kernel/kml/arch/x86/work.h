/* SPDX-License-Identifier: GPL-2.0 */
/* Flags of a thread that the short way back to a program cannot leave alone. */
#ifndef _KML_WORK_H
#define _KML_WORK_H

/* The real-time kernels have a second one. */
#ifdef _TIF_NEED_RESCHED_LAZY
#define KML_RESCHED	(_TIF_NEED_RESCHED | _TIF_NEED_RESCHED_LAZY)
#else
#define KML_RESCHED	_TIF_NEED_RESCHED
#endif

#define KML_EXIT_WORK	(_TIF_SIGPENDING | _TIF_NOTIFY_RESUME | _TIF_UPROBE | \
			 KML_RESCHED | _TIF_PATCH_PENDING | _TIF_NOTIFY_SIGNAL | \
			 _TIF_USER_RETURN_NOTIFY | _TIF_IO_BITMAP | _TIF_NEED_FPU_LOAD)

#endif
