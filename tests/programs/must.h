/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _TESTS_MUST_H
#define _TESTS_MUST_H

#include <stdio.h>
#include <stdlib.h>

/* What does not hold ends the program, with errno's text. */
#define MUST(what) do {						\
	if (!(what)) {						\
		printf("line %d: %s: %m\n", __LINE__, #what);	\
		exit(1);					\
	}							\
} while (0)

#endif
