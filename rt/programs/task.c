// SPDX-License-Identifier: GPL-2.0
/*
 * FreeRTOS at work: tasks that keep a pace, calculate, exchange messages and are woken by an
 * interrupt's handler, and one that tells each second how they are and judges at the end.
 */
#include "FreeRTOS.h"
#include "queue.h"
#include "semphr.h"
#include "task.h"
#include "port_task.h"

#define TASK_QUEUE	8
#define TASK_BURST	5	/* ticks that the busy task calculates, and then sleeps */
#define TASK_PAUSE	10	/* ticks between two heaps of messages */

enum task_priority {
	TASK_BUSY = tskIDLE_PRIORITY + 1,
	TASK_PRODUCER,
	TASK_CONSUMER,
	TASK_REPORTER,
	TASK_BELL,
	TASK_PACE,
};

struct task_message {
	uint64_t number;
	uint64_t check;
};

/* Each has one task that writes it. */
static struct {
	TickType_t begin;
	uint64_t count, missed;
	uint64_t min, last, max, sum;	/* cycles from a tick's deadline to the task */
} task_pace;

static uint64_t task_busy_rounds, task_sent, task_received, task_bells;
static QueueHandle_t task_queue, task_answers;

static uint64_t task_check(uint64_t number)
{
	return (number ^ 0x5348494d4f53ULL) * 0x9e3779b97f4a7c15ULL;
}

/* The highest priority: nothing but interrupts may keep it from its pace. */
static void task_keep_pace(void *unused)
{
	TickType_t due = xTaskGetTickCount();
	uint64_t late;

	(void)unused;
	task_pace.begin = due;
	for (;;) {
		/* without a wait it was the next tick's turn already */
		if (!xTaskDelayUntil(&due, 1))
			BOARD_WRITE(task_pace.missed, task_pace.missed + 1);
		late = board_now() - port_deadline(due);
		taskENTER_CRITICAL();
		task_pace.count++;
		task_pace.last = late;
		task_pace.sum += late;
		if (late < task_pace.min)
			task_pace.min = late;
		if (late > task_pace.max)
			task_pace.max = late;
		taskEXIT_CRITICAL();
	}
}

/* Half of the time it lets the idle task, and so Linux, have the core. */
static void task_be_busy(void *unused)
{
	TickType_t begin;

	(void)unused;
	for (;;) {
		begin = xTaskGetTickCount();
		while (xTaskGetTickCount() - begin < TASK_BURST)
			BOARD_WRITE(task_busy_rounds, task_busy_rounds + 1);
		vTaskDelay(TASK_BURST);
	}
}

/* More than the queue holds at once, so that both ends have to wait. */
static void task_produce(void *unused)
{
	struct task_message message;
	uint64_t answer;
	int i;

	(void)unused;
	for (;;) {
		for (i = 0; i < 2 * TASK_QUEUE; i++) {
			message.number = task_sent;
			message.check = task_check(task_sent);
			configASSERT(xQueueSend(task_queue, &message, portMAX_DELAY));
			BOARD_WRITE(task_sent, task_sent + 1);
		}
		configASSERT(xQueueReceive(task_answers, &answer, portMAX_DELAY));
		if (answer != task_sent)
			board_fail("task wrong: answer %lu after %lu messages", answer, task_sent);
		vTaskDelay(TASK_PAUSE);
	}
}

static void task_consume(void *unused)
{
	struct task_message message;
	uint64_t number;

	(void)unused;
	for (;;) {
		configASSERT(xQueueReceive(task_queue, &message, portMAX_DELAY));
		number = task_received;
		if (message.number != number || message.check != task_check(number))
			board_fail("task wrong: message %lu is %lu, check %lx", number,
				   message.number, message.check);
		number++;
		BOARD_WRITE(task_received, number);
		if (number % (2 * TASK_QUEUE) == 0)
			configASSERT(xQueueSend(task_answers, &number, portMAX_DELAY));
	}
}

/* KLoader rings when it wants something. */
static void task_answer_bell(void *unused)
{
	(void)unused;
	for (;;) {
		if (board_asked_to_stop()) {
			board_print("task asked to stop\n");
			board_end(SHIMOS_RT_END_STOPPED);
		}
		ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
		BOARD_WRITE(task_bells, task_bells + 1);
	}
}

static void task_say(unsigned int second)
{
	taskENTER_CRITICAL();
	board_print("%u s: pace %lu (%lu missed) Min: %lu Act: %lu Avg: %lu Max: %lu, busy %lu, messages %lu, bells %lu\n",
		    second, task_pace.count, task_pace.missed, task_pace.min, task_pace.last,
		    task_pace.sum / (task_pace.count ? task_pace.count : 1), task_pace.max,
		    task_busy_rounds, task_received, task_bells);
	taskEXIT_CRITICAL();
}

/* However late interrupts are: ticks are never ahead of the clock, nor behind it after one. */
static void task_judge_clock(void)
{
	TickType_t before = xTaskGetTickCount(), after;
	uint64_t now = board_now();

	if ((int64_t)(now - port_deadline(before)) < 0)
		board_fail("task wrong: tick %lu came too early", before);
	vTaskDelay(1);
	after = xTaskGetTickCount();
	if ((int64_t)(port_deadline(after + 1) - now) <= 0)
		board_fail("task wrong: %lu ticks, and the clock is ahead", after);
}

/* By its own first tick: under load the others begin much later. */
static void task_judge_pace(void)
{
	uint64_t ticks;

	taskENTER_CRITICAL();
	ticks = xTaskGetTickCount() - task_pace.begin;
	if (task_pace.count + 1 < ticks || task_pace.count > ticks + 1)
		board_fail("task wrong: the pace is %lu after %lu ticks", task_pace.count, ticks);
	taskEXIT_CRITICAL();
}

static void task_report(void *unused)
{
	TickType_t due = xTaskGetTickCount();
	size_t heap = xPortGetFreeHeapSize();
	unsigned int second;

	(void)unused;
	for (second = 1; second <= TASK_SECONDS; second++) {
		xTaskDelayUntil(&due, configTICK_RATE_HZ);
		task_say(second);
	}
	task_judge_clock();
	task_judge_pace();
	if (!task_busy_rounds)
		board_fail("task wrong: the busy task never ran");
	if (task_received < 2 * TASK_QUEUE)
		board_fail("task wrong: only %lu messages came", task_received);
	if (xPortGetFreeHeapSize() != heap)
		board_fail("task wrong: %lu bytes of the heap were free, and now %lu", heap,
			   xPortGetFreeHeapSize());
	if (board_strays())
		board_fail("task wrong: %lu interrupts that nobody asked for", board_strays());
	board_print("task fine\n");
	board_end(SHIMOS_RT_END_STOPPED);
}

void board_program(void)
{
	board_print("task: FreeRTOS " tskKERNEL_VERSION_NUMBER "\n");
	task_pace.min = UINT64_MAX;
	task_queue = xQueueCreate(TASK_QUEUE, sizeof(struct task_message));
	task_answers = xQueueCreate(1, sizeof(uint64_t));
	configASSERT(task_queue && task_answers);
	port_task_new(task_be_busy, "busy", TASK_BUSY);
	port_task_new(task_produce, "producer", TASK_PRODUCER);
	port_task_new(task_consume, "consumer", TASK_CONSUMER);
	port_task_new(task_report, "reporter", TASK_REPORTER);
	port_task_on_bell(port_task_new(task_answer_bell, "bell", TASK_BELL));
	port_task_new(task_keep_pace, "pace", TASK_PACE);
	board_ready();
	vTaskStartScheduler();
}
