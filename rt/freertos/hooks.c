// SPDX-License-Identifier: GPL-2.0
/* What FreeRTOS calls when it has nothing to do, or when something is wrong. */
#include "FreeRTOS.h"
#include "task.h"

void vApplicationIdleHook(void)
{
	board_idle();
}

void vApplicationStackOverflowHook(TaskHandle_t task, char *name)
{
	(void)task;
	board_fail("the stack of the task %s is too small", name);
}

void vApplicationMallocFailedHook(void)
{
	board_fail("FreeRTOS's heap is too small");
}
