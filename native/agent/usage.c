// SPDX-License-Identifier: Apache-2.0
#include "usage.h"

#include <string.h>

#include "discover.h"
#include "proc.h"

enum {
	MOST_AGE = 15,
	MOST_IDLE = 2,	      /* 2^2 samples without a look at who does nothing, */
	MOST_IDLE_KERNEL = 5, /* 2^5 at threads of the kernel */
};

/* It was not told which program it runs now. */
static void look_for_name(struct collector *c, struct task *task)
{
	struct event event = {.ns = now_ns(), .pid = task->pid, .kind = EV_NAME};
	struct proc_stat stat;

	task->rename = false;
	if (!proc_task(c->proc, task->pid, &stat) || !memcmp(stat.name, task->name, TASK_NAME))
		return;
	tasks_set_name(task, stat.name);
	memcpy(event.name, stat.name, TASK_NAME);
	tasks_event(&c->tasks, &event);
}

/* Where nothing tells of programs that are started, samples ask: often of young processes, which start
 * them, and seldom of old ones. */
static void ask_name(struct collector *c, struct task *task)
{
	if (task->kernel || !task->name[0] || c->samples - task->first < 1u << task->age)
		return;
	task->age += task->age < MOST_AGE;
	look_for_name(c, task);
}

static void look_at(struct collector *c, uint32_t number)
{
	struct task *task = tasks_at(&c->tasks, number);
	uint64_t cpu_ns = proc_cpu_ns(task->pid);

	if (cpu_ns == UNKNOWN) {
		struct event gone = {.ns = now_ns(), .pid = task->pid, .kind = EV_GONE};

		task->live = false;
		if (!c->tasks.told)
			tasks_event(&c->tasks, &gone);
		return;
	}
	if (task->rename)
		look_for_name(c, task);
	if (!c->tasks.told)
		ask_name(c, task);
	if (cpu_ns == task->cpu_ns) {
		/* Who was there from the beginning and has no name yet is a thread of the kernel, or init. */
		task->idle += task->idle < (task->kernel || !task->name[0] ? MOST_IDLE_KERNEL : MOST_IDLE);
		task->due = c->samples + (1u << task->idle);
		return;
	}
	task->cpu_ns = cpu_ns;
	task->idle = 0;
	task->due = c->samples + 1;
	tasks_list(&c->tasks, task);
}

void usage_sample(struct collector *c)
{
	struct buf *live = &c->tasks.live;
	uint32_t *numbers = (void *)live->data;
	size_t count = live->used / sizeof(*numbers), kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct task *task = tasks_at(&c->tasks, numbers[i]);

		if (task->live && task->due <= c->samples)
			look_at(c, numbers[i]);
		if (task->live)
			numbers[kept++] = numbers[i];
	}
	live->used = kept * sizeof(*numbers);
}

LATE void usage_last(struct collector *c)
{
	const uint32_t *numbers = (void *)c->tasks.live.data;
	size_t count = c->tasks.live.used / sizeof(*numbers);

	c->tasks.sample = c->samples - 1;
	for (size_t i = 0; i < count; i++) {
		struct task *task = tasks_at(&c->tasks, numbers[i]);
		uint64_t cpu_ns = proc_cpu_ns(task->pid);

		if (cpu_ns == UNKNOWN || !task->live)
			continue;
		task->cpu_ns = cpu_ns;
		if (task->name[0] && task->start_ns != UNKNOWN)
			look_for_name(c, task);
		else
			discover_name(c, task);
		tasks_list(&c->tasks, task);
	}
}
