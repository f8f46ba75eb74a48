/* SPDX-License-Identifier: GPL-2.0 */
/* Between the files of the board. */
#ifndef _RT_VECTORS_H
#define _RT_VECTORS_H

#include "board.h"

/* entries.S enters by these two */
extern const char board_stubs[];
extern board_handler *board_handlers[BOARD_VECTORS];

void board_vectors_load(void);
/* From start.S. */
void board_start(const struct shimos_rt_boot *boot);

#endif
