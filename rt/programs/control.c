// SPDX-License-Identifier: GPL-2.0
/*
 * FreeRTOS balances a pendulum at 1 kHz.  A program on the host says by IKC where its cart
 * shall be, and hears how it is; examples/pendulum_panel.c is one.
 */
#include "FreeRTOS.h"
#include "task.h"
#include "control.h"
#include "ikc.h"
#include "pendulum.h"
#include "port_task.h"

enum control_priority {
	CONTROL_PANEL = tskIDLE_PRIORITY + 1,
	CONTROL_BALANCE,
};

/* What both tasks use, with interrupts off. */
static struct {
	struct pendulum pendulum;
	pendulum_fixed goal;
	uint64_t ticks, missed, late;	/* cycles, since it was told last */
} control;

static uint64_t control_us(uint64_t cycles)
{
	return cycles / (board_cycles_per_second() / 1000000);
}

/* ---- the controller ---- */

static void control_tick(uint64_t us, uint64_t late, bool missed)
{
	taskENTER_CRITICAL();
	pendulum_pass(&control.pendulum, us);
	pendulum_balance(&control.pendulum, control.goal);
	control.ticks++;
	control.missed += missed;
	if (late > control.late)
		control.late = late;
	taskEXIT_CRITICAL();
}

/* By its own clock: time that it did not get is the pendulum's all the same. */
static void control_balance(void *unused)
{
	TickType_t due = xTaskGetTickCount();
	uint64_t last = control_us(board_now()), now;
	bool missed;

	(void)unused;
	for (;;) {
		missed = !xTaskDelayUntil(&due, 1);
		now = control_us(board_now());
		control_tick(now - last, board_now() - port_deadline(due), missed);
		last = now;
	}
}

/* ---- its panel ---- */

static struct control_state control_look(void)
{
	struct control_state state;

	taskENTER_CRITICAL();
	state = (struct control_state) {
		.ticks = control.ticks,
		.missed = control.missed,
		.late_us = control_us(control.late),
		.fallen = control.pendulum.fallen,
		.goal_mm = pendulum_thousandths(control.goal),
		.position_mm = pendulum_thousandths(control.pendulum.position),
		.angle_mrad = pendulum_thousandths(control.pendulum.angle),
	};
	control.late = 0;
	taskEXIT_CRITICAL();
	return state;
}

/* Anything may come; what means nothing is not obeyed. */
static void control_obey(const struct control_command *command)
{
	taskENTER_CRITICAL();
	if (command->order == CONTROL_GOAL)
		control.goal = pendulum_of_thousandths(command->goal_mm);
	else if (command->order == CONTROL_RAISE)
		control.pendulum = (struct pendulum) { 0 };
	taskEXIT_CRITICAL();
}

/* One panel after the other; one that has left, or sends what is no command, makes room. */
static void control_read(void)
{
	struct control_command command;
	uint32_t len;
	int ret;

	while (!(ret = board_ikc_read(CONTROL_CHANNEL, &command, sizeof(command), &len)))
		if (len == sizeof(command))
			control_obey(&command);
	if (ret != -EAGAIN)
		board_ikc_next(CONTROL_CHANNEL);
}

/* Who does not read it loses it. */
static void control_tell(void)
{
	struct control_state state = control_look();

	if (!board_ikc_write(CONTROL_CHANNEL, &state, sizeof(state)))
		board_ikc_notify(CONTROL_CHANNEL);
}

/* Until the next message is due, or something comes. */
static void control_serve(TickType_t due)
{
	TickType_t now;

	while (!board_asked_to_stop()) {
		control_read();
		now = xTaskGetTickCount();
		if (now >= due)
			return;
		if (!board_ikc_serve() && board_ikc_arm(CONTROL_CHANNEL))
			ulTaskNotifyTake(pdTRUE, due - now);
	}
}

static void control_panel(void *unused)
{
	TickType_t due = xTaskGetTickCount();

	(void)unused;
	while (!board_asked_to_stop()) {
		due += configTICK_RATE_HZ / CONTROL_PER_SECOND;
		control_serve(due);
		control_tell();
	}
	board_print("control: %lu ticks, %lu missed, %s\n", control.ticks, control.missed,
		    control.pendulum.fallen ? "fallen" : "standing");
	board_end(SHIMOS_RT_END_STOPPED);
}

static void control_join(void)
{
	int error = board_ikc_join();

	if (!error)
		error = board_ikc_open(CONTROL_CHANNEL, CONTROL_CHANNEL, CONTROL_SLOTS,
				       CONTROL_SLOT_SIZE);
	/* it stands without a panel, too */
	if (error)
		board_print("control: no panel: %s\n", board_ikc_explain(error));
}

void board_program(void)
{
	control_join();
	port_task_on_bell(port_task_new(control_panel, "panel", CONTROL_PANEL));
	port_task_new(control_balance, "balance", CONTROL_BALANCE);
	board_ready();
	vTaskStartScheduler();
}
