// SPDX-License-Identifier: Apache-2.0
#include "proc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Of the kernel's interface since 5.2; older libraries do not know them. */
#ifndef SYS_fsopen
#define SYS_fsopen 430
#define SYS_fsconfig 431
#define SYS_fsmount 432
#endif

enum { CLOSE_ON_EXEC = 1, CREATE = 6, TICK_NS = 10000000, KERNEL_THREAD = 0x00200000, CPU_CLOCK = 2 };

/* Never seen by others: the file system is attached to no folder. */
static int detached_mount(const char *type)
{
	int context = (int)syscall(SYS_fsopen, type, CLOSE_ON_EXEC);
	int dir = -1;

	if (context < 0)
		return -1;
	if (!syscall(SYS_fsconfig, context, CREATE, NULL, NULL, 0))
		dir = (int)syscall(SYS_fsmount, context, CLOSE_ON_EXEC, 0);
	int error = errno;
	close(context);
	errno = error;
	return dir;
}

int private_mount(const char *type, const char *path)
{
	int dir = detached_mount(type);

	if (dir >= 0)
		return dir;
	/* On a folder for as long as it takes to open it: what is open stays after it is unmounted. */
	if (mount(type, path, type, MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
		return -1;
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int error = errno;
	umount2(path, MNT_DETACH);
	errno = error;
	return dir;
}

int proc_open(bool mounted)
{
	int dir = mounted ? open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	int there = dir >= 0 ? openat(dir, "stat", O_RDONLY | O_CLOEXEC) : -1;

	if (there >= 0) {
		close(there);
		return dir;
	}
	if (dir >= 0)
		close(dir);
	return private_mount("proc", "/proc");
}

ssize_t proc_read(int dir, const char *path, char *to, size_t room)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	size_t size = 0;
	ssize_t got = 0;

	if (fd < 0)
		return -1;
	while (size < room && (got = read(fd, to + size, room - size)) > 0)
		size += (size_t)got;
	close(fd);
	return got < 0 && !size ? -1 : (ssize_t)size;
}

LATE bool proc_append(int dir, const char *path, struct buf *b)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t before = b->used;
	ssize_t got;

	if (fd < 0)
		return false;
	while (buf_reserve(b, 4096) && (got = read(fd, b->data + b->used, b->room - b->used)) > 0)
		b->used += (size_t)got;
	close(fd);
	return b->used > before;
}

/* The space-separated field `n` fields behind `at`, which is moved behind it. */
static const char *skip(const char *at, const char *end, int n)
{
	for (; n && at < end; at++)
		n -= *at == ' ';
	return at;
}

bool proc_parse(const char *line, size_t size, struct proc_stat *stat)
{
	const char *end = line + size, *at = line, *close = NULL;
	size_t n = 0;

	stat->pid = (uint32_t)text_num(&at, end);
	if (at == line || end - at < 3 || at[0] != ' ' || at[1] != '(')
		return false;
	const char *name = at + 2;
	/* A name may hold brackets: the last one ends it. */
	for (const char *p = name; p + 1 < end; p++)
		if (p[0] == ')' && p[1] == ' ')
			close = p;
	if (!close)
		return false;
	memset(stat->name, 0, TASK_NAME);
	for (const char *p = name; p < close && n < TASK_NAME - 1; p++)
		stat->name[n++] = *p;
	at = skip(close + 2, end, 1); /* the state */
	stat->ppid = (uint32_t)text_num(&at, end);
	at = skip(at, end, 5); /* up to the flags */
	stat->kernel = text_num(&at, end) & KERNEL_THREAD;
	at = skip(at, end, 13);
	if (at >= end || *at < '0' || *at > '9')
		return false;
	stat->start_ns = text_num(&at, end) * TICK_NS;
	return true;
}

void proc_path(char to[40], uint32_t pid, const char *file)
{
	size_t n = text_put(to, pid);

	to[n++] = '/';
	while (n < 39 && *file)
		to[n++] = *file++;
	to[n] = 0;
}

bool proc_task(int dir, uint32_t pid, struct proc_stat *stat)
{
	char path[40], line[512];

	proc_path(path, pid, "stat");
	ssize_t size = proc_read(dir, path, line, sizeof(line));
	return size > 0 && proc_parse(line, (size_t)size, stat);
}

uint64_t proc_cpu_ns(uint32_t pid)
{
	struct timespec t;
	/* How the kernel numbers the CPU clocks of processes (man clock_getcpuclockid). */
	clockid_t clock = (clockid_t)(~pid << 3 | CPU_CLOCK);

	if (clock_gettime(clock, &t))
		return UNKNOWN;
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint32_t proc_last_pid(const char *text, size_t size)
{
	const char *end = text + size, *at = end;

	while (at > text && (at[-1] == '\n' || (at[-1] >= '0' && at[-1] <= '9')))
		at--;
	return (uint32_t)text_num(&at, end);
}

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
