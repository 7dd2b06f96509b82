// SPDX-License-Identifier: Apache-2.0
#include "klog.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/klog.h>
#include <unistd.h>

enum { READ_ALL = 3, CONSOLE_OFF = 6, CONSOLE_ON = 7, SIZE = 10, RECORD = 8192 };

int klog_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

bool klog_has(int fd, const char *text)
{
	static char record[RECORD];
	bool found = false;

	for (;;) {
		ssize_t size = read(fd, record, sizeof(record));

		/* EPIPE: records were overwritten before they were read; the next one is there. */
		if (size < 0 && (errno == EPIPE || errno == EINTR))
			continue;
		if (size <= 0)
			return found;
		found |= text_has(record, (size_t)size, text);
	}
}

LATE void klog_all(struct buf *b)
{
	int size = klogctl(SIZE, NULL, 0);

	if (size <= 0 || !buf_reserve(b, (size_t)size))
		return;
	int got = klogctl(READ_ALL, b->data + b->used, size);
	if (got > 0)
		b->used += (size_t)got;
}

LATE static void say(char level, const char *before, int64_t number, const char *after)
{
	struct buf line = {0};
	int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	/* Written whole, or lines of others would be in it. */
	buf_char(&line, '<');
	buf_char(&line, level);
	buf_str(&line, ">bootscope-agent: ");
	buf_str(&line, before);
	if (number >= 0)
		buf_num(&line, (uint64_t)number);
	buf_str(&line, after);
	buf_char(&line, '\n');
	if (write(fd, line.data, line.used) < 0) {
		/* There is nobody else to tell. */
	}
	close(fd);
	buf_free(&line);
}

LATE void klog_say(const char *before, int64_t number, const char *after)
{
	say('5', before, number, after);
}

LATE void klog_note(const char *before, int64_t number, const char *after)
{
	say('7', before, number, after);
}

LATE void klog_console(bool on)
{
	klogctl(on ? CONSOLE_ON : CONSOLE_OFF, NULL, 0);
}
