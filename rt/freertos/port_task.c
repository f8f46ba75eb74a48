// SPDX-License-Identifier: GPL-2.0
#include "port_task.h"

#define PORT_TASK_STACK	(2 * configMINIMAL_STACK_SIZE)

static TaskHandle_t port_task_of_bell;

/**
 * port_task_new() - have a task
 * @function: it gets NULL, and must not return
 * @name: for messages
 * @priority: the higher, the more urgent
 *
 * Return: the task; the program ends if there is no memory for it.
 */
TaskHandle_t port_task_new(TaskFunction_t function, const char *name, UBaseType_t priority)
{
	TaskHandle_t task;

	configASSERT(xTaskCreate(function, name, PORT_TASK_STACK, NULL, priority, &task) == pdPASS);
	return task;
}

static void port_task_rung(void)
{
	BaseType_t wanted = pdFALSE;

	vTaskNotifyGiveFromISR(port_task_of_bell, &wanted);
	portYIELD_FROM_ISR(wanted);
}

/**
 * port_task_on_bell() - notify a task when KLoader or a program on the host rings
 * @task: ulTaskNotifyTake() waits for it
 */
void port_task_on_bell(TaskHandle_t task)
{
	port_task_of_bell = task;
	port_on(SHIMOS_RT_BELL, port_task_rung);
}
