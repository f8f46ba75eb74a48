/* SPDX-License-Identifier: GPL-2.0 */
/* How FreeRTOS is built for the layer's real-time partitions. */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#include "board.h"

#define configTICK_RATE_HZ			1000
#define configTICK_TYPE_WIDTH_IN_BITS		TICK_TYPE_WIDTH_64_BITS
#define configMAX_PRIORITIES			8
#define configMINIMAL_STACK_SIZE		512	/* words of 8 bytes: an interrupt takes 22 */
#define configTOTAL_HEAP_SIZE			(128 * 1024)

#define configUSE_PREEMPTION			1
#define configUSE_TIME_SLICING			1
#define configUSE_MUTEXES			1
#define configUSE_IDLE_HOOK			1	/* gives the core to Linux */
#define configUSE_TICK_HOOK			0
#define configUSE_PORT_OPTIMISED_TASK_SELECTION	0

/* Nothing that goes wrong shall pass unseen. */
#define configCHECK_FOR_STACK_OVERFLOW		2
#define configUSE_MALLOC_FAILED_HOOK		1
#define configASSERT(what)							\
	do {									\
		if (!(what))							\
			board_fail("%s:%d: failed: %s", __FILE__, __LINE__, #what);	\
	} while (0)

#define INCLUDE_vTaskDelay			1
#define INCLUDE_xTaskDelayUntil			1
#define INCLUDE_vTaskDelete			1
#define INCLUDE_vTaskSuspend			1
#define INCLUDE_xTaskGetCurrentTaskHandle	1
#define INCLUDE_uxTaskPriorityGet		1
#define INCLUDE_vTaskPrioritySet		1
#define INCLUDE_uxTaskGetStackHighWaterMark	1

#endif
