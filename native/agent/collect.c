// SPDX-License-Identifier: Apache-2.0
#include "collect.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "klog.h"
#include "proc.h"

enum {
	CENTISECOND_NS = 10000000,
	CPU_LINE = 256,	      /* more than the first line of /proc/stat ever has */
	DISK_ROOM = 4096,     /* some 40 disks and partitions */
	MEMORY_ROOM = 4096,
	MEMORY_NS = 800000000, /* between two of its blocks at the least */
	MOST_QUIET = 2,	      /* 2^2 periods between samples while no process begins or ends */
	SHARE = 10000,           /* of the CPU: the most that reading one log may take is 1 / SHARE */
	MOST_AGE = 15,
	MOST_IDLE = 2,	      /* 2^2 samples without a look at who does nothing, */
	MOST_IDLE_KERNEL = 5, /* 2^5 at threads of the kernel */
	SCAN_MOST = 4096,     /* pids that are tried one by one */
};

/* Without a block of a log. */
#define MOST_PAUSE_NS 5000000000u

static volatile sig_atomic_t told_to_stop;

static void on_signal(int number)
{
	(void)number;
	told_to_stop = 1;
}

int open_path(const struct collector *c, const char *path, int flags)
{
	char inside[4096] = "1/root";
	const char *name = path;

	if (c->as_init && *path == '/' && strlen(path) + strlen(inside) < sizeof(inside)) {
		strcpy(inside + strlen(inside), path);
		name = inside;
	}
	return openat(name == inside ? c->proc : AT_FDCWD, name, flags | O_CLOEXEC, 0644);
}

static int open_in(int dir, const char *name)
{
	return openat(dir, name, O_RDONLY | O_CLOEXEC);
}

const char *collect_start(struct collector *c, const struct options *o, bool as_init)
{
	struct sigaction stop = {.sa_handler = on_signal};
	const char *from = o->sources ? o->sources : "all";
	bool all = !strcmp(from, "all");

	c->options = o;
	c->as_init = as_init;
	c->kmsg = -1;
	c->begun_ns = now_ns();
	c->own_pid = (uint32_t)getpid();
	buf_left = (size_t)o->memory_kib * 1024;
	if (!tasks_init(&c->tasks))
		return "no memory";
	c->stat.fd = open_in(c->proc, "stat");
	if (c->stat.fd < 0)
		return "no /proc/stat";
	c->disks.fd = open_in(c->proc, "diskstats");
	c->memory.fd = open_in(c->proc, "meminfo");
	c->memory.due_ns = c->begun_ns + MEMORY_NS;
	c->has_perf = (all || !strcmp(from, "perf")) && perf_start(&c->perf);
	/* Asked for a protocol that it has not, the kernel would start modprobe. */
	bool connector = !c->has_perf && (all || !strcmp(from, "connector"));
	int there = connector ? open_in(c->proc, "net/connector") : -1;
	c->has_connector = there >= 0 && connector_start(&c->connector);
	if (there >= 0)
		close(there);
	c->has_taskstats = strcmp(from, "proc") && taskstats_start(&c->taskstats);
	c->tasks.told = c->has_perf || c->has_connector;
	c->load = c->tasks.told ? -1 : open_in(c->proc, "loadavg");
	if (o->stop_message)
		c->kmsg = klog_open();
	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGUSR1, &stop, NULL);
	return NULL;
}

/* ---- which processes there are ---- */

static void name_from_proc(struct collector *c, struct task *task)
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
		name_from_proc(c, task);
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

/* Who is there already. Numbers are tried where they are few, which is cheaper than reading folders. */
static void first_look(struct collector *c)
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

/* Processes since the last sample, where no source tells of them. */
static void look_for_new(struct collector *c)
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

/* ---- what they use ---- */

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

static void look_at_all(struct collector *c)
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

/* ---- the machine as a whole ---- */

/* A block of a log: the time in 1/100 s, text as it is in /proc, an empty line. */
static void block(struct buf *b, uint64_t at_ns, int fd, size_t room, bool one_line)
{
	if (fd < 0 || !buf_reserve(b, room + 32))
		return;
	size_t before = b->used;

	b->used += text_put(b->data + b->used, at_ns / CENTISECOND_NS);
	b->data[b->used++] = '\n';
	ssize_t size = pread(fd, b->data + b->used, room, 0);
	if (size <= 0) {
		b->used = before;
		return;
	}
	const char *text = b->data + b->used, *end = text + size;
	const char *line = one_line ? memchr(text, '\n', (size_t)size) : NULL;

	if (line) {
		end = line + 1;
	} else {
		/* A line that did not fit whole is left out. */
		while (end > text && end[-1] != '\n')
			end--;
	}
	b->used += (size_t)(end - text);
	b->data[b->used++] = '\n';
}

/* A block of a log whose text the kernel makes at some cost: the costlier, the less often. */
static void log_block(struct collector *c, struct log *log, uint64_t at_ns, size_t room, bool one_line)
{
	if (log->fd < 0 || at_ns < log->due_ns)
		return;
	uint64_t before_ns = proc_cpu_ns(c->own_pid);

	block(&log->text, at_ns, log->fd, room, one_line);
	uint64_t pause_ns = (proc_cpu_ns(c->own_pid) - before_ns) * SHARE;
	log->due_ns = at_ns + (pause_ns < MOST_PAUSE_NS ? pause_ns : MOST_PAUSE_NS);
}

static void sample(struct collector *c)
{
	uint64_t at_ns = now_ns();
	uint32_t from = tasks_events(&c->tasks);

	if (c->has_perf)
		perf_drain(&c->perf, &c->tasks);
	if (c->has_connector)
		connector_drain(&c->connector, &c->tasks);
	tasks_apply(&c->tasks, from);
	if (c->has_taskstats)
		taskstats_drain(&c->taskstats, &c->tasks, at_ns);
	if (!c->tasks.told)
		look_for_new(c);
	look_at_all(c);
	log_block(c, &c->stat, at_ns, CPU_LINE, true);
	log_block(c, &c->disks, at_ns, DISK_ROOM, false);
	log_block(c, &c->memory, at_ns, MEMORY_ROOM, false);
	if (c->memory.due_ns < at_ns + MEMORY_NS)
		c->memory.due_ns = at_ns + MEMORY_NS;
	buf_add(&c->times, &at_ns, sizeof(at_ns));
	c->sampled_ns = at_ns;
	c->tasks.sample = ++c->samples;
}

LATE static void name_all(struct collector *c)
{
	for (uint32_t i = 0; i < tasks_count(&c->tasks); i++)
		name_from_proc(c, tasks_at(&c->tasks, i));
}

/* Everything that can wait until now: who is still there, by name, and in the last sample. */
LATE static void last_look(struct collector *c)
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
			name_from_proc(c, task);
		tasks_list(&c->tasks, task);
	}
}

/* ---- when to stop ---- */

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

/* What there was to wait for, and has come; NULL for nothing. */
static const char *reached(const struct collector *c)
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

/* When to sample next: later and later while no process begins or ends, as long as a source tells of that. */
static uint64_t next_sample(struct collector *c, uint64_t now, uint32_t events)
{
	uint64_t period_ns = (uint64_t)c->options->period_ms * 1000000u;

	if (!c->tasks.told || events != tasks_events(&c->tasks))
		c->quiet = 0;
	else if (c->quiet < MOST_QUIET)
		c->quiet++;
	uint64_t next_ns = c->sampled_ns + (period_ns << c->quiet);
	/* What was missed is not made up for. */
	return next_ns > now ? next_ns : now + period_ns;
}

static void sleep_until(const struct collector *c, uint64_t ns)
{
	struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
	uint64_t now = now_ns();

	if (!c->has_perf)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	else if (ns > now)
		perf_wait(&c->perf, ns - now);
}

void collect_run(struct collector *c)
{
	uint64_t end_ns = c->begun_ns + (uint64_t)c->options->stop_after_ms * 1000000u;
	uint64_t linger_ns = (uint64_t)c->options->linger_ms * 1000000u;

	c->stopped_by = NULL;
	first_look(c);
	/* Where nothing waits for it, names are asked for before who has them is gone. */
	if (!c->as_init)
		name_all(c);
	for (;;) {
		uint32_t events = tasks_events(&c->tasks);

		if (told_to_stop || now_ns() >= end_ns)
			/* The last one is whole. */
			c->stat.due_ns = c->disks.due_ns = c->memory.due_ns = 0;
		sample(c);
		uint64_t now = now_ns();

		if (!c->stopped_by) {
			c->stopped_by = reached(c);
			if (c->stopped_by && now + linger_ns < end_ns)
				end_ns = now + linger_ns;
		}
		if (told_to_stop) {
			c->stopped_by = "signal";
			break;
		}
		if (now >= end_ns)
			break;
		/* Samples are told apart by hundredths of a second. */
		uint64_t least_ns = now + CENTISECOND_NS, until_ns = next_sample(c, now, events);
		until_ns = until_ns < end_ns ? until_ns : end_ns;
		sleep_until(c, until_ns > least_ns ? until_ns : least_ns);
	}
	if (!c->stopped_by)
		c->stopped_by = "time";
	c->ended_ns = now_ns();
	c->own_cpu_ns = proc_cpu_ns(c->own_pid);
	getrusage(RUSAGE_SELF, &c->own);
	last_look(c);
}
