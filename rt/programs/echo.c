// SPDX-License-Identifier: GPL-2.0
/* What takes part in IKC and does no more: the host's `shimos ping` and `shimos perf` find it. */
#include "board.h"
#include "ikc.h"

void board_program(void)
{
	int ret = board_ikc_join();

	if (ret)
		board_fail("echo: %s", board_ikc_explain(ret));
	board_print("echo: at your service\n");
	board_ready();
	while (!board_asked_to_stop()) {
		if (board_ikc_serve())
			board_interrupts_take();
		else
			board_idle();
		board_interrupts_off();
	}
	board_print("echo: %lu strays\n", board_strays());
	board_end(SHIMOS_RT_END_STOPPED);
}
