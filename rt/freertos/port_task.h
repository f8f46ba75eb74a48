/* SPDX-License-Identifier: GPL-2.0 */
/* Tasks, as programs have them: with the same stack, and for as long as the program runs. */
#ifndef PORT_TASK_H
#define PORT_TASK_H

#include "FreeRTOS.h"
#include "task.h"

TaskHandle_t port_task_new(TaskFunction_t function, const char *name, UBaseType_t priority);
void port_task_on_bell(TaskHandle_t task);

#endif
