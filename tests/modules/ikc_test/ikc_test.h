/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of shimos_ikc_test share; see main.c. */
#ifndef _IKC_TEST_H
#define _IKC_TEST_H

#include <shimos/ikc.h>

#define QUEUE		1
#define CLOSED_QUEUE	15
#define SLOTS		200

/* What a packet is: its command. */
enum kind { PLAIN, SHARED, PAGE, PAGE_DONE, START };

/* main.c: the queue */
extern const struct ikc_queue_ops queue_ops;

/* misuse.c: the API used wrongly, and a kernel gone bad */
extern char misuse_results[2048];
void misuse(unsigned int kernel);
void misuse_spoil(unsigned int kernel);
void misuse_scribble(unsigned int kernel);
void misuse_wreck(void);
void misuse_bells(unsigned int kernel, unsigned int cpu);
void misuse_version(u32 version);

#endif
