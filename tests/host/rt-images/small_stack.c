// SPDX-License-Identifier: GPL-2.0
/* A task of FreeRTOS's that uses more stack than it has: the next switch must tell. */
#include "FreeRTOS.h"
#include "task.h"

/* No tick comes meanwhile: it would use what is below the stack, and that is something else's. */
static __attribute__((noinline)) void small_stack_use(void)
{
	unsigned char much[configMINIMAL_STACK_SIZE * sizeof(StackType_t)];
	unsigned int i;

	for (i = 0; i < sizeof(much); i++)
		BOARD_WRITE(much[i], i);
}

static void small_stack_task(void *unused)
{
	(void)unused;
	taskENTER_CRITICAL();
	small_stack_use();
	taskEXIT_CRITICAL();
	vTaskDelay(1);
	board_print("it went on\n");
	board_end(SHIMOS_RT_END_STOPPED);
}

void board_program(void)
{
	configASSERT(xTaskCreate(small_stack_task, "small", configMINIMAL_STACK_SIZE, NULL, 2, NULL));
	vTaskStartScheduler();
}
