/* SPDX-License-Identifier: GPL-2.0 */
/*
 * FreeRTOS on the layer's board: what its kernel wants to know about the CPU.
 *
 * Interrupts do not nest.  A critical section is cli, with a count in each task, so a task
 * may yield within one and finds interrupts off when it goes on.
 */
#ifndef PORTMACRO_H
#define PORTMACRO_H

#include <stdint.h>
#include "board.h"

#define portBASE_TYPE			long
#define portSTACK_TYPE			uint64_t
#define portPOINTER_SIZE_TYPE		uint64_t

typedef portSTACK_TYPE StackType_t;
typedef long BaseType_t;
typedef unsigned long UBaseType_t;
typedef uint64_t TickType_t;

#define portMAX_DELAY			UINT64_MAX
#define portTICK_TYPE_IS_ATOMIC		1
#define portTICK_PERIOD_MS		((TickType_t)1000 / configTICK_RATE_HZ)

#define portSTACK_GROWTH		(-1)
#define portBYTE_ALIGNMENT		16
#define portCRITICAL_NESTING_IN_TCB	1

/* INT by which a task yields. */
#define PORT_YIELD_VECTOR		0x81

#define portYIELD()			port_yield()
#define portYIELD_FROM_ISR(wanted)	port_yield_from_isr(wanted)

#define portDISABLE_INTERRUPTS()	board_interrupts_off()
#define portENABLE_INTERRUPTS()		board_interrupts_on()
#define portENTER_CRITICAL()		vTaskEnterCritical()
#define portEXIT_CRITICAL()		vTaskExitCritical()
#define portMEMORY_BARRIER()		port_barrier()
#define portASSERT_IF_IN_ISR()		configASSERT(!port_in_isr())

#define portTASK_FUNCTION_PROTO(function, argument)	void function(void *argument)
#define portTASK_FUNCTION(function, argument)		void function(void *argument)

static inline void port_yield(void)
{
	asm volatile("int %0" : : "i" (PORT_YIELD_VECTOR) : "memory");
}

/* For the compiler only: there is one CPU. */
static inline void port_barrier(void)
{
	asm volatile("" : : : "memory");
}

void port_on(unsigned int vector, void (*handler)(void));
void port_yield_from_isr(BaseType_t wanted);
BaseType_t port_in_isr(void);
uint64_t port_deadline(TickType_t tick);

#endif
