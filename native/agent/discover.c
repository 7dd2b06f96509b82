// SPDX-License-Identifier: Apache-2.0
#include "discover.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proc.h"

enum { SCAN_MOST = 4096 }; /* pids that are tried one by one */

void discover_name(struct collector *c, struct task *task)
{
	struct proc_stat stat;

	if (!proc_task(c->proc, task->pid, &stat))
		return;
	tasks_set_name(task, stat.name);
	task->kernel = stat.kernel;
	task->ppid = stat.ppid;
	if (task->start_ns == UNKNOWN)
		task->start_ns = stat.start_ns;
}

/* A process without an event. Its name can wait until the end where there is not much to lose. */
static void found(struct collector *c, uint32_t pid, uint64_t cpu_ns, bool later)
{
	struct task *task = tasks_add(&c->tasks, pid, 0, UNKNOWN);

	if (!task)
		return;
	task->found = true;
	task->first = c->samples;
	task->cpu_ns = cpu_ns;
	if (later)
		tasks_list(&c->tasks, task);
	else
		discover_name(c, task);
}

static void scan(struct collector *c, uint32_t first, uint32_t last, bool later)
{
	for (uint32_t pid = first; pid <= last; pid++) {
		const struct task *known = tasks_find(&c->tasks, pid);
		uint64_t cpu_ns;

		if (known && known->live)
			continue;
		cpu_ns = proc_cpu_ns(pid);
		if (cpu_ns == UNKNOWN) {
			c->unseen += !later;
			continue;
		}
		found(c, pid, later ? cpu_ns : 0, later);
	}
}

/* What getdents64 gives. */
struct dirent64_head {
	uint64_t inode, next;
	uint16_t size;
	uint8_t type;
	char name[];
};

/* Numbers are tried where they are few, which is cheaper than reading folders. */
void discover_first(struct collector *c)
{
	if (c->own_pid <= SCAN_MOST) {
		scan(c, 1, c->own_pid, true);
		c->last_pid = c->own_pid;
		return;
	}
	static char entries[4096] __attribute__((aligned(8)));
	int dir = openat(c->proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	long size;
	uint64_t pid;

	while (dir >= 0 && (size = syscall(SYS_getdents64, dir, entries, sizeof(entries))) > 0)
		for (long at = 0; at < size;) {
			const struct dirent64_head *entry = (const void *)(entries + at);
			uint64_t cpu_ns;

			at += entry->size;
			if (!text_whole(entry->name, UINT32_MAX, &pid))
				continue;
			cpu_ns = proc_cpu_ns((uint32_t)pid);
			if (cpu_ns != UNKNOWN)
				found(c, (uint32_t)pid, cpu_ns, true);
		}
	if (dir >= 0)
		close(dir);
	c->last_pid = c->own_pid;
}

void discover_new(struct collector *c)
{
	char text[64];
	ssize_t size = c->load < 0 ? 0 : pread(c->load, text, sizeof(text), 0);
	uint32_t last = size > 0 ? proc_last_pid(text, (size_t)size) : 0;

	if (!last || last == c->last_pid)
		return;
	/* Numbers begin again when they have reached the end. */
	uint32_t first = last > c->last_pid ? c->last_pid + 1 : 1;
	if (last - first >= SCAN_MOST)
		first = last - SCAN_MOST + 1;
	scan(c, first, last, false);
	c->last_pid = last;
}

LATE void discover_names(struct collector *c)
{
	for (uint32_t i = 0; i < tasks_count(&c->tasks); i++)
		discover_name(c, tasks_at(&c->tasks, i));
}
