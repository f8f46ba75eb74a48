/* SPDX-License-Identifier: GPL-2.0 */
/* Between C and Rust: src/board.rs has the same declarations. */
#ifndef _RT_SHIM_H
#define _RT_SHIM_H

#include "board.h"

/* ---- for Rust ---- */

uint64_t shim_now(void);
/* Were they on? */
bool shim_interrupts_off(void);
void shim_interrupts_on(void);
void shim_idle(void);
/* A text without an end. */
void shim_print(const char *text, int length);
void __noreturn shim_fail(const char *text, int length);
void __noreturn shim_stop(void);

/* ---- Rust's, with interrupts off ---- */

void rust_timer(void);
void rust_bell(void);
/* The program; does not return. */
void __noreturn rust_program(void);

#endif
