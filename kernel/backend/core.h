/* SPDX-License-Identifier: GPL-2.0 */
/* What a device's life is made of: the files below core.c, for it alone. */
#ifndef _SHIMOS_BACKEND_CORE_H
#define _SHIMOS_BACKEND_CORE_H

#include "backend.h"

/* ---- tell.c: what the user is told ---- */

/**
 * backend_send() - say something to the user of a device
 * @b:        the device
 * @cmd:      what is said
 * @answered: number of the request that it answers, or 0
 * @value:    depends on @cmd
 * @block:    of the shared area, which changes hands and is freed if nobody gets it; or NULL
 * @size:     bytes at @block
 *
 * Context: Any but NMI.
 * Return: 0, or as ikc_write().
 */
int backend_send(struct backend *b, enum shimos_virtio_cmd cmd, u32 answered, u32 value,
		 void *block, u32 size);
/**
 * backend_try_to_announce() - offer a device to its user, if that does not know it yet
 * @b: the device
 *
 * It stays as it is if the user cannot be told now.
 *
 * Context: Process; takes @b->lock.
 */
void backend_try_to_announce(struct backend *b);

/* ---- run.c: with the user's driver ---- */

/**
 * backend_stop() - take nothing more from the user's rings, and let go of its memory
 * @b: the device, which may have been stopped already
 *
 * Context: May sleep; @b->mutex is held.
 */
void backend_stop(struct backend *b);
/**
 * backend_handle_start() - the driver is ready: start the device
 * @b:   the device; stopped first
 * @pkt: brought what the driver has set up, in a block of the shared area, which stays the
 *	caller's
 *
 * Context: May sleep; @b->mutex is held.
 * Return: 0; -ESHUTDOWN: it is to be started never again; or another negative errno.
 */
int backend_handle_start(struct backend *b, const struct ikc_packet *pkt);

#endif
