// SPDX-License-Identifier: Apache-2.0
#include "write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "klog.h"
#include "pack.h"
#include "proc.h"
#include "send.h"

enum { CENTISECOND_NS = 10000000, TEXT = 4096 };

/* ---- the text of the logs ---- */

static void pair(struct buf *b, const char *key, uint64_t value)
{
	buf_str(b, key);
	buf_str(b, " = ");
	buf_num(b, value);
	buf_char(b, '\n');
}

static void pair_text(struct buf *b, const char *key, const char *value)
{
	buf_str(b, key);
	buf_str(b, " = ");
	buf_str(b, value);
	buf_char(b, '\n');
}

/* Puts the value behind `key` in a file of lines "key: value" or "key=value"; nothing when it has none. */
static void value_of(const struct collector *c, const char *path, const char *key, struct buf *b)
{
	char text[TEXT];
	ssize_t size = proc_read(c->proc, path, text, sizeof(text) - 1);

	if (size <= 0)
		return;
	text[size] = 0;
	for (char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, strlen(key)))
			continue;
		char *value = line + strlen(key), *end = strchr(value, '\n');
		value += strspn(value, " \t:=\"");
		end = end ? end : value + strlen(value);
		while (end > value && end[-1] == '"')
			end--;
		buf_add(b, value, (size_t)(end - value));
		return;
	}
}

static uint64_t time_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_usec * 1000u;
}

static void sources(const struct collector *c, struct buf *b)
{
	buf_str(b, "bootscope.sources =");
	buf_str(b, c->has_perf ? " perf" : "");
	buf_str(b, c->has_connector ? " connector" : "");
	buf_str(b, c->has_taskstats ? " taskstats" : "");
	buf_str(b, " proc\n");
}

static bool cut(const struct collector *c)
{
	return c->tasks.all.cut || c->tasks.live.cut || c->tasks.events.cut || c->tasks.spent.cut ||
	       c->stat.text.cut || c->disks.text.cut || c->memory.text.cut || c->times.cut;
}

static void costs(const struct collector *c, struct buf *b)
{
	const struct tasks *t = &c->tasks;

	pair(b, "bootscope.cost.setup_ns", c->setup_ns);
	pair(b, "bootscope.cost.cpu_ns", c->own_cpu_ns);
	pair(b, "bootscope.cost.user_ns", time_ns(&c->own.ru_utime));
	pair(b, "bootscope.cost.system_ns", time_ns(&c->own.ru_stime));
	pair(b, "bootscope.cost.switches", (uint64_t)c->own.ru_nvcsw);
	pair(b, "bootscope.cost.preemptions", (uint64_t)c->own.ru_nivcsw);
	pair(b, "bootscope.cost.page_faults", (uint64_t)(c->own.ru_minflt + c->own.ru_majflt));
	pair(b, "bootscope.cost.bytes",
	     t->all.used + t->live.used + t->events.used + t->spent.used + c->stat.text.used +
		     c->disks.text.used + c->memory.text.used + c->times.used);
}

void write_header(const struct collector *c, struct buf *b)
{
	struct utsname name;

	pair_text(b, "version", "1.0");
	if (!uname(&name)) {
		buf_str(b, "title = Boot chart for ");
		buf_str(b, name.nodename);
		buf_char(b, '\n');
		buf_str(b, "system.uname = ");
		const char *const parts[] = {name.sysname, name.release, name.version, name.machine};
		for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
			buf_str(b, i ? " " : "");
			buf_str(b, parts[i]);
		}
		buf_char(b, '\n');
	}
	buf_str(b, "system.release = ");
	value_of(c, c->as_init ? "1/root/etc/os-release" : "/etc/os-release", "PRETTY_NAME", b);
	buf_str(b, "\nsystem.cpu = ");
	value_of(c, "cpuinfo", "model name", b);
	buf_str(b, "\nsystem.kernel.options = ");
	proc_append(c->proc, "cmdline", b);
	pair_text(b, "bootscope.agent", AGENT_VERSION);
	sources(c, b);
	pair_text(b, "bootscope.stopped_by", c->stopped_by);
	pair(b, "bootscope.begun_ns", c->begun_ns);
	pair(b, "bootscope.ended_ns", c->ended_ns);
	pair(b, "bootscope.samples", c->samples);
	pair(b, "bootscope.threads", c->tasks.threads);
	pair(b, "bootscope.unseen", c->unseen);
	pair(b, "bootscope.lost", c->perf.lost + c->connector.lost + c->taskstats.lost);
	pair_text(b, "bootscope.memory_limit", cut(c) ? "reached" : "not reached");
	costs(c, b);
}

/* A process may give itself any name: no line of ours must end in it. */
static void name_text(struct buf *b, const char *name, bool one_word)
{
	for (; *name; name++)
		buf_char(b, (unsigned char)*name < ' ' ? '?' : one_word && *name == ' ' ? '_' : *name);
}

static void maybe(struct buf *b, uint64_t value)
{
	buf_char(b, ' ');
	if (value == UNKNOWN)
		buf_char(b, '-');
	else
		buf_num(b, value);
}

static void event_line(struct buf *b, const struct event *e)
{
	static const char *const words[] = {" start ", " fork ", " exec ", " name ", " exit ", " gone "};

	buf_num(b, e->ns);
	buf_str(b, words[e->kind]);
	buf_num(b, e->pid);
	if (e->kind == EV_FORK) {
		maybe(b, e->other);
	} else if (e->kind == EV_EXIT) {
		maybe(b, e->other == UINT32_MAX ? UNKNOWN : e->other);
		maybe(b, e->spent.cpu_ns);
		maybe(b, e->spent.io_ns);
	} else if (e->name[0] && e->kind != EV_GONE) {
		buf_char(b, ' ');
		name_text(b, e->name, false);
	}
	buf_char(b, '\n');
}

void write_events(const struct collector *c, struct buf *b)
{
	const struct tasks *t = &c->tasks;
	const struct event *events = (void *)t->events.data;
	const uint64_t *times = (void *)c->times.data;
	uint32_t count = tasks_events(t);

	for (uint32_t i = 0; i < c->samples && i < c->times.used / sizeof(*times); i++) {
		buf_num(b, times[i]);
		buf_str(b, " sample ");
		buf_num(b, i);
		buf_char(b, '\n');
	}
	for (uint32_t i = 0; i < tasks_count(t); i++) {
		const struct task *task = tasks_at(t, i);

		/* Of the others a fork has told. */
		if (task->start_ns == UNKNOWN || !task->found)
			continue;
		buf_num(b, task->start_ns);
		buf_str(b, " start ");
		buf_num(b, task->pid);
		maybe(b, task->ppid);
		buf_char(b, ' ');
		name_text(b, task->name, false);
		buf_char(b, '\n');
	}
	for (uint32_t i = 0; i < count; i++)
		event_line(b, &events[i]);
}

static bool begun_by(const struct task *task, uint64_t ns)
{
	return task->start_ns == UNKNOWN || task->start_ns <= ns;
}

static void task_line(const struct task *task, uint64_t cpu_ns, uint64_t io_ns, struct buf *b)
{
	buf_num(b, task->pid);
	maybe(b, task->ppid);
	buf_char(b, ' ');
	name_text(b, task->name[0] ? task->name : "unknown", true);
	maybe(b, cpu_ns);
	maybe(b, io_ns);
	buf_str(b, " 0\n");
}

void write_taskstats(const struct collector *c, struct buf *b)
{
	const uint64_t *times = (void *)c->times.data;
	const struct spent *at = (void *)c->tasks.spent.data;
	size_t left = c->tasks.spent.used / sizeof(*at);
	uint32_t next = 0, count = tasks_count(&c->tasks);

	for (uint32_t i = 0; i < c->times.used / sizeof(*times); i++) {
		buf_num(b, times[i] / CENTISECOND_NS);
		buf_char(b, '\n');
		for (; left && at->sample <= i; at++, left--)
			task_line(tasks_at(&c->tasks, at->task), at->cpu_ns, at->io_ns, b);
		/* Who came and went without a sample is not to be missing where events are not known of. */
		for (; next < count && begun_by(tasks_at(&c->tasks, next), times[i]); next++)
			if (!tasks_at(&c->tasks, next)->listed)
				task_line(tasks_at(&c->tasks, next), 0, 0, b);
		buf_char(b, '\n');
	}
}

/* How programs that are still there were called. */
static void command_lines(const struct collector *c, struct buf *b)
{
	const uint32_t *live = (void *)c->tasks.live.data;
	struct buf line = {0};

	for (size_t i = 0; i < c->tasks.live.used / sizeof(*live); i++) {
		const struct task *task = tasks_at(&c->tasks, live[i]);
		char path[40], program[256];

		line.used = 0;
		if (!task->live || task->kernel)
			continue;
		proc_path(path, task->pid, "cmdline");
		if (!proc_append(c->proc, path, &line) || memchr(line.data, '\n', line.used))
			continue;
		proc_path(path, task->pid, "exe");
		ssize_t size = readlinkat(c->proc, path, program, sizeof(program));
		if (size <= 0 || memchr(program, '\n', (size_t)size))
			continue;
		buf_num(b, task->pid);
		buf_str(b, "\n:");
		buf_add(b, program, (size_t)size);
		buf_str(b, "\n:");
		buf_add(b, line.data, line.used);
		buf_str(b, "\n\n");
	}
	buf_free(&line);
}

/* What the kernel has traced, where it was told to by its command line. */
static void kernel_trace(const struct collector *c, struct buf *b)
{
	char tracer[32] = "";
	struct buf events = {0};
	int dir = open("/sys/kernel/tracing", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir >= 0 && proc_read(dir, "current_tracer", tracer, sizeof(tracer) - 1) <= 0) {
		/* The folder is there, but nothing is mounted on it. */
		close(dir);
		dir = -1;
	}
	if (dir < 0 && c->as_init)
		dir = private_mount("tracefs", "/sys");
	if (dir < 0)
		return;
	if (proc_read(dir, "current_tracer", tracer, sizeof(tracer) - 1) > 0 &&
	    (strcmp(tracer, "nop\n") || proc_append(dir, "set_event", &events)))
		proc_append(dir, "trace", b);
	buf_free(&events);
	close(dir);
}

/* ---- the archive ---- */

static void archive(struct collector *c, struct pack *p)
{
	struct timespec now;
	struct buf b = {0};

	clock_gettime(CLOCK_REALTIME, &now);
	uint64_t mtime = (uint64_t)now.tv_sec;
	struct {
		const char *name;
		void (*make)(const struct collector *c, struct buf *b);
	} const made[] = {
		{"header", write_header},
		{"taskstats.log", write_taskstats},
		{"bootscope_events.log", write_events},
		{"cmdline2.log", command_lines},
		{"trace", c->options->trace ? kernel_trace : NULL},
	};
	for (size_t i = 0; i < sizeof(made) / sizeof(*made); i++) {
		b.used = 0;
		if (made[i].make)
			made[i].make(c, &b);
		if (b.used)
			tar_file(p, made[i].name, b.data, b.used, mtime);
	}
	/* By its stamp it is seen how far the log's clock is from ours. */
	klog_note("clock ", (int64_t)now_ns(), " ns");
	b.used = 0;
	klog_all(&b);
	tar_file(p, "dmesg", b.data, b.used, mtime);
	buf_free(&b);
	tar_file(p, "proc_stat.log", c->stat.text.data, c->stat.text.used, mtime);
	tar_file(p, "proc_diskstats.log", c->disks.text.data, c->disks.text.used, mtime);
	tar_file(p, "proc_meminfo.log", c->memory.text.data, c->memory.text.used, mtime);
	tar_end(p);
}

static bool put_file(void *to, const uint8_t *data, size_t size)
{
	int fd = *(int *)to;

	while (size) {
		ssize_t done = write(fd, data, size);

		if (done < 0 && errno != EINTR)
			return false;
		if (done > 0) {
			data += done;
			size -= (size_t)done;
		}
	}
	return true;
}

static struct pack packer;

static bool to_file(struct collector *c, const char *path)
{
	int fd = open_path(c, path, O_WRONLY | O_CREAT | O_TRUNC), error = errno;

	if (fd >= 0) {
		pack_begin(&packer, put_file, &fd);
		archive(c, &packer);
		errno = 0;
		bool good = pack_end(&packer);
		error = errno;
		if (!close(fd) && good) {
			klog_say("written: ", (int64_t)packer.packed, " bytes to ");
			klog_say(path, -1, "");
			return true;
		}
	}
	klog_say("cannot write the file, error ", error, ", of the name");
	klog_say(path, -1, "");
	return false;
}

static bool to_console(struct collector *c, const char *path)
{
	static struct send sender;
	int fd = open_path(c, path, O_WRONLY | O_NOCTTY);

	if (fd < 0) {
		klog_say("cannot open the console, error ", errno, "");
		return false;
	}
	/* Lines of the kernel would be in between. */
	klog_console(false);
	send_begin(&sender, fd, "bootscope-agent.tgz");
	pack_begin(&packer, send_put, &sender);
	archive(c, &packer);
	bool good = pack_end(&packer);
	good &= send_end(&sender);
	klog_console(true);
	close(fd);
	return good;
}

bool write_result(struct collector *c)
{
	static const char *const usual[] = {
		"/var/log/bootscope-agent.tgz",
		"/run/bootscope-agent.tgz",
		"/tmp/bootscope-agent.tgz",
	};
	const struct options *o = c->options;

	/* What was collected is bounded, and so is what is made of it. */
	buf_left = SIZE_MAX;
	if (o->output && to_file(c, o->output))
		return true;
	if (o->console && to_console(c, o->console))
		return true;
	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
		if (to_file(c, usual[i]))
			return true;
	return false;
}
