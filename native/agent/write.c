// SPDX-License-Identifier: Apache-2.0
#include "write.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "klog.h"
#include "pack.h"
#include "proc.h"
#include "send.h"
#include "write_header.h"
#include "write_tasks.h"

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
		{"cmdline2.log", write_command_lines},
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
