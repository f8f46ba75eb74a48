// SPDX-License-Identifier: GPL-2.0
/*
 * FreeRTOS on the layer's board: stacks, switches and the tick.
 *
 * A task that does not run is a struct board_frame on its own stack, be it by an interrupt
 * or because it yielded; board/entries.S makes and takes those, so there is no assembly here.
 */
#include "FreeRTOS.h"
#include "task.h"
#include "period.h"

#define PORT_FLAGS	0x202	/* interrupts on, and a bit that is always set */

static struct {
	struct board_period period;
	uint64_t first;		/* deadline of tick 0, which is none */
	TickType_t origin;	/* what FreeRTOS calls that tick */
	BaseType_t isr;		/* in a handler */
	BaseType_t yield;	/* it wants another task to go on */
} port;

static void (*port_handlers[BOARD_VECTORS])(void);

/* A task's function must not return. */
static void port_returned(void)
{
	board_fail("the task %s returned", pcTaskGetName(NULL));
}

StackType_t *pxPortInitialiseStack(StackType_t *top, TaskFunction_t code, void *argument)
{
	/* as after a call: the return address is what makes the stack odd by 8 */
	StackType_t *stack = (StackType_t *)((uintptr_t)top & ~15UL) - 1;
	struct board_frame *frame = (struct board_frame *)stack - 1;

	*stack = (StackType_t)port_returned;
	*frame = (struct board_frame) {
		.rdi = (uint64_t)argument,
		.rip = (uint64_t)code,
		.cs = BOARD_CODE,
		.flags = PORT_FLAGS,
		.rsp = (uint64_t)stack,
		.ss = BOARD_DATA,
	};
	return (StackType_t *)frame;
}

/* Of the task that runs; FreeRTOS promises that this is what its control block begins with. */
static struct board_frame **port_frame(void)
{
	return (struct board_frame **)xTaskGetCurrentTaskHandle();
}

static struct board_frame *port_switch(struct board_frame *frame)
{
	*port_frame() = frame;
	vTaskSwitchContext();
	return *port_frame();
}

static struct board_frame *port_isr(struct board_frame *frame)
{
	BaseType_t yield;

	port.isr = pdTRUE;
	port_handlers[frame->vector]();
	port.isr = pdFALSE;
	yield = port.yield;
	port.yield = pdFALSE;
	return yield ? port_switch(frame) : frame;
}

/* However late it is, FreeRTOS sees each tick. */
static void port_tick(void)
{
	uint64_t ticks = board_period_pass(&port.period, board_now());

	board_timer(port.period.deadline);
	for (; ticks; ticks--)
		port_yield_from_isr(xTaskIncrementTick());
}

/**
 * port_on() - have a handler for an interrupt that may use what ends in FromISR
 */
void port_on(unsigned int vector, void (*handler)(void))
{
	port_handlers[vector] = handler;
	board_on(vector, port_isr);
}

/**
 * port_yield_from_isr() - whether another task shall go on when a handler is done
 */
void port_yield_from_isr(BaseType_t wanted)
{
	if (wanted)
		port.yield = pdTRUE;
}

BaseType_t port_in_isr(void)
{
	return port.isr;
}

/**
 * port_deadline() - when a tick is or was due, in cycles
 */
uint64_t port_deadline(TickType_t tick)
{
	return port.first + (tick - port.origin) * port.period.length;
}

BaseType_t xPortStartScheduler(void)
{
	port.origin = xTaskGetTickCount();
	port.first = board_now();
	port.period.length = board_cycles_per_second() / configTICK_RATE_HZ;
	port.period.deadline = port.first + port.period.length;
	board_on(PORT_YIELD_VECTOR, port_switch);
	port_on(SHIMOS_RT_TIMER, port_tick);
	board_timer(port.period.deadline);
	board_resume(*port_frame());
}

void vPortEndScheduler(void)
{
	board_end(SHIMOS_RT_END_STOPPED);
}
