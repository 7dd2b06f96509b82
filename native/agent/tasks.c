// SPDX-License-Identifier: Apache-2.0
#include "tasks.h"

#include <string.h>

enum { FIRST_SLOTS = 1024 };

/* Room for `count` slots, all free. */
static bool make_slots(struct buf *slots, uint32_t count)
{
	*slots = (struct buf){0};
	return buf_reserve(slots, count * sizeof(uint32_t));
}

static uint32_t *slots(const struct tasks *t)
{
	return (uint32_t *)(void *)t->slots.data;
}

bool tasks_init(struct tasks *t)
{
	*t = (struct tasks){.slot_count = FIRST_SLOTS};
	return make_slots(&t->slots, FIRST_SLOTS);
}

uint32_t tasks_count(const struct tasks *t)
{
	return (uint32_t)(t->all.used / sizeof(struct task));
}

uint32_t tasks_events(const struct tasks *t)
{
	return (uint32_t)(t->events.used / sizeof(struct event));
}

struct task *tasks_at(const struct tasks *t, uint32_t number)
{
	return (struct task *)(void *)t->all.data + number;
}

static struct event *event_at(const struct tasks *t, uint32_t number)
{
	return (struct event *)(void *)t->events.data + number;
}

/* Where `pid` is, or the free place for it: the table is never full. */
static uint32_t slot_of(const struct tasks *t, uint32_t pid)
{
	uint32_t mask = t->slot_count - 1, at = pid & mask;

	/* Pids are given one after the other: their lowest bits are as good as any hash. */
	while (slots(t)[at] && tasks_at(t, slots(t)[at] - 1)->pid != pid)
		at = (at + 1) & mask;
	return at;
}

static bool more_slots(struct tasks *t)
{
	struct buf old = t->slots;
	const uint32_t *from = slots(t);
	uint32_t count = t->slot_count;

	if (!make_slots(&t->slots, count * 2)) {
		t->slots = old;
		return false;
	}
	t->slot_count = count * 2;
	for (uint32_t i = 0; i < count; i++)
		if (from[i])
			slots(t)[slot_of(t, tasks_at(t, from[i] - 1)->pid)] = from[i];
	buf_free(&old);
	return true;
}

struct task *tasks_find(const struct tasks *t, uint32_t pid)
{
	uint32_t number = slots(t)[slot_of(t, pid)];

	return number ? tasks_at(t, number - 1) : NULL;
}

struct task *tasks_add(struct tasks *t, uint32_t pid, uint32_t ppid, uint64_t start_ns)
{
	struct task made = {.pid = pid, .ppid = ppid, .start_ns = start_ns, .live = true};
	struct task *before = tasks_find(t, pid);
	uint32_t number = tasks_count(t);

	if (before)
		before->live = false;
	if (number >= t->slot_count / 2 && !more_slots(t))
		return NULL;
	if (!buf_add(&t->all, &made, sizeof(made)))
		return NULL;
	uint32_t slot = slot_of(t, pid);
	if (!buf_add(&t->live, &number, sizeof(number))) {
		t->all.used -= sizeof(made);
		return NULL;
	}
	slots(t)[slot] = number + 1;
	return tasks_at(t, number);
}

void tasks_set_name(struct task *task, const char *name)
{
	size_t n = 0;

	for (; n < TASK_NAME - 1 && name[n]; n++)
		task->name[n] = name[n];
	memset(task->name + n, 0, TASK_NAME - n);
}

bool tasks_event(struct tasks *t, const struct event *event)
{
	struct event *last;
	uint32_t number = tasks_events(t);

	if (!buf_add(&t->events, event, sizeof(*event)))
		return false;
	last = event_at(t, number);
	last->number = number;
	return true;
}

static bool before(const struct event *a, const struct event *b)
{
	return a->ns != b->ns ? a->ns < b->ns : a->number < b->number;
}

/* Shell's: a few lines, quick on what is nearly in order. */
static void sort(struct event *events, uint32_t count)
{
	for (uint32_t gap = count / 2; gap; gap /= 2)
		for (uint32_t i = gap; i < count; i++) {
			struct event moved = events[i];
			uint32_t at = i;

			for (; at >= gap && before(&moved, &events[at - gap]); at -= gap)
				events[at] = events[at - gap];
			events[at] = moved;
		}
}

static void apply(struct tasks *t, struct event *event, uint32_t number)
{
	struct task *task = tasks_find(t, event->pid), *parent;

	switch (event->kind) {
	case EV_FORK:
		parent = tasks_find(t, event->other);
		/* Two sources may both tell. */
		if (task && task->live && task->start_ns == event->ns)
			break;
		/* Numbers, as the table may move while it grows. */
		char name[TASK_NAME] = {0};
		bool kernel = event->other == 2;
		if (parent) {
			memcpy(name, parent->name, TASK_NAME);
			kernel |= parent->kernel;
		}
		task = tasks_add(t, event->pid, event->other, event->ns);
		if (task) {
			tasks_set_name(task, name);
			task->kernel = kernel;
		}
		break;
	case EV_EXEC:
	case EV_NAME:
		if (!task)
			break;
		task->kernel &= event->kind == EV_NAME;
		/* Not every source knows the name of what was started. */
		task->rename = !event->name[0];
		if (event->name[0])
			tasks_set_name(task, event->name);
		break;
	case EV_EXIT:
		if (!task)
			task = tasks_add(t, event->pid, 0, UNKNOWN);
		if (task) {
			task->live = false;
			task->end = number + 1;
		}
		break;
	default:
		break;
	}
}

void tasks_apply(struct tasks *t, uint32_t from)
{
	uint32_t count = tasks_events(t);

	for (uint32_t i = from + 1; i < count; i++)
		if (event_at(t, i)->ns < event_at(t, i - 1)->ns) {
			sort(event_at(t, from), count - from);
			break;
		}
	for (uint32_t i = from; i < count; i++)
		apply(t, event_at(t, i), i);
}

void tasks_list(struct tasks *t, struct task *task)
{
	struct spent spent = {t->sample, (uint32_t)(task - tasks_at(t, 0)), task->cpu_ns, task->io_ns};

	if (task->listed != t->sample + 1 && buf_add(&t->spent, &spent, sizeof(spent)))
		task->listed = t->sample + 1;
}

void tasks_account(struct tasks *t, uint32_t pid, uint64_t cpu_ns, uint64_t io_ns)
{
	struct task *task = tasks_find(t, pid);

	if (!task)
		return;
	task->cpu_ns = cpu_ns;
	task->io_ns = io_ns;
	task->listed = 0;
	tasks_list(t, task);
	if (task->end) {
		struct event *event = event_at(t, task->end - 1);

		event->spent.cpu_ns = cpu_ns;
		event->spent.io_ns = io_ns;
	}
}
