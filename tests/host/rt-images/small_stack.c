// SPDX-License-Identifier: GPL-2.0
/* A task of FreeRTOS's that uses more stack than it has: the next switch must tell. */
#include "FreeRTOS.h"
#include "task.h"

static void small_stack_task(void *unused)
{
	unsigned char much[configMINIMAL_STACK_SIZE * sizeof(StackType_t)];
	unsigned int i;

	(void)unused;
	for (i = 0; i < sizeof(much); i++)
		BOARD_WRITE(much[i], i);
	vTaskDelay(1);
	board_print("it went on\n");
	board_end(SHIMOS_RT_END_STOPPED);
}

void board_program(void)
{
	configASSERT(xTaskCreate(small_stack_task, "small", configMINIMAL_STACK_SIZE, NULL, 2, NULL));
	vTaskStartScheduler();
}
