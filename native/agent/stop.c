// SPDX-License-Identifier: Apache-2.0
#include "stop.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "klog.h"

static volatile sig_atomic_t told;

static void on_signal(int number)
{
	(void)number;
	told = 1;
}

void stop_by_signals(void)
{
	struct sigaction stop = {.sa_handler = on_signal};

	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGUSR1, &stop, NULL);
}

bool stop_told(void)
{
	return told;
}

static bool runs(const struct collector *c, const char *name)
{
	char wanted[TASK_NAME];
	size_t n = strlen(name) < TASK_NAME - 1 ? strlen(name) : TASK_NAME - 1;
	uint32_t count = tasks_count(&c->tasks);

	memset(wanted, 0, sizeof(wanted));
	memcpy(wanted, name, n);
	for (uint32_t i = count; i-- > 0;) {
		const struct task *task = tasks_at(&c->tasks, i);

		if (!memcmp(task->name, wanted, TASK_NAME) && task->pid != c->own_pid)
			return true;
	}
	return false;
}

static bool is_there(const struct collector *c, const char *path)
{
	int fd = open_path(c, path, O_PATH);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

const char *stop_reached(const struct collector *c)
{
	const struct options *o = c->options;

	if (o->stop_process && runs(c, o->stop_process))
		return "process";
	if (o->stop_file && is_there(c, o->stop_file))
		return "file";
	if (c->kmsg >= 0 && klog_has(c->kmsg, o->stop_message))
		return "message";
	return NULL;
}
