// SPDX-License-Identifier: Apache-2.0
#include "log.h"

#include <string.h>
#include <unistd.h>

#include "proc.h"

enum { SHARE = 10000 }; /* of the CPU: the most that reading one log may take is 1 / SHARE */

/* Without a block of a log. */
#define MOST_PAUSE_NS 5000000000u

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

void log_block(struct log *log, uint32_t own_pid, uint64_t at_ns, size_t room, bool one_line)
{
	if (log->fd < 0 || at_ns < log->due_ns)
		return;
	uint64_t before_ns = proc_cpu_ns(own_pid);

	block(&log->text, at_ns, log->fd, room, one_line);
	uint64_t pause_ns = (proc_cpu_ns(own_pid) - before_ns) * SHARE;
	log->due_ns = at_ns + (pause_ns < MOST_PAUSE_NS ? pause_ns : MOST_PAUSE_NS);
}
