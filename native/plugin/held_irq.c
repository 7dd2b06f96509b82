// SPDX-License-Identifier: GPL-2.0-or-later
#include "held_irq.h"

#include <stdio.h>

#include "qemu_api.h"

#define LINE "sysbus-irq[0]"
#define MOST_LINES 8

/* Where a line has its function and what that is given, in pointers: behind an object of five (QEMU 10.0). */
#define HANDLER_AT 5
#define OPAQUE_AT 6

static struct {
	void *opaque; /* by which QEMU says that it is this line */
	struct bs_held_irq *line;
} taken[MOST_LINES];
static size_t n_taken;

static void tell(struct bs_held_irq *line)
{
	if (line->told == line->high)
		return;
	line->told = line->high;
	qemu_set_irq(line->goes_to, line->high);
}

static void settle(struct bs_held_irq *line, int64_t now_ns)
{
	if (line->high && now_ns < line->until_ns)
		timer_mod_ns(line->timer, line->until_ns);
	else
		tell(line);
}

static void on_due(void *udata)
{
	struct bs_held_irq *line = udata;

	settle(line, qemu_clock_get_ns(BS_QEMU_CLOCK_VIRTUAL));
}

static void on_level(void *opaque, int number, int level)
{
	(void)number;
	for (size_t i = 0; i < n_taken; i++) {
		struct bs_held_irq *line = taken[i].line;

		if (taken[i].opaque != opaque)
			continue;
		line->high = level != 0;
		if (!line->inside)
			settle(line, qemu_clock_get_ns(BS_QEMU_CLOCK_VIRTUAL));
	}
}

bool bs_held_take(struct bs_held_irq *line, void *device)
{
	if (!object_property_get_link || !qemu_irq_intercept_in || !qemu_set_irq || !timer_init_full ||
	    !timer_mod_ns) {
		fputs("bootscope plugin: this QEMU does not let a plugin hold an interrupt back; record without "
		      "guest-clock=board, or with QEMU 10.0\n",
		      stderr);
		return false;
	}
	void **found = object_property_get_link(device, LINE, NULL);
	if (!found || n_taken == MOST_LINES) {
		fprintf(stderr, "bootscope plugin: a %s has no interrupt that can be held back\n",
			object_get_typename(device));
		return false;
	}
	void *irq = found;
	qemu_irq_intercept_in(&irq, on_level, 1);
	if (found[HANDLER_AT] != (void *)on_level) {
		fputs("bootscope plugin: this QEMU's interrupts are not as in QEMU 10.0; record without "
		      "guest-clock=board, or with QEMU 10.0\n",
		      stderr);
		return false;
	}
	line->goes_to = *(void **)found[OPAQUE_AT];
	taken[n_taken].opaque = found[OPAQUE_AT];
	taken[n_taken++].line = line;
	timer_init_full(line->timer, NULL, BS_QEMU_CLOCK_VIRTUAL, 1, 0, on_due, line);
	return true;
}

void bs_held_enter(struct bs_held_irq *line)
{
	line->inside = true;
}

void bs_held_leave(struct bs_held_irq *line, int64_t now_ns)
{
	line->inside = false;
	settle(line, now_ns);
}
