/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IKC_BELL_H
#define _IKC_BELL_H

#include <shimos/ikc.h>

/* What an architecture provides; see arch/x86/bell.c. */
int ikc_arch_bell_init(void);
void ikc_arch_bell_exit(void);
void ikc_arch_bell_get(struct shimos_bell *bell);
bool ikc_arch_bell_valid(const struct shimos_bell *bell);
void ikc_arch_bell_ring(const struct shimos_bell *bell);

/* Called by the architecture. */
void ikc_bell_rang(void);
void ikc_bell_moved(void);

#endif
