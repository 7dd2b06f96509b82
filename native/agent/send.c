// SPDX-License-Identifier: Apache-2.0
#include "send.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "pack.h"

enum { LINE_ROOM = 160 };

struct line {
	char text[LINE_ROOM];
	size_t size;
};

static void add(struct line *l, const char *text)
{
	size_t n = strlen(text);

	if (n > LINE_ROOM - l->size)
		n = LINE_ROOM - l->size;
	memcpy(l->text + l->size, text, n);
	l->size += n;
}

static void add_num(struct line *l, uint64_t value)
{
	if (LINE_ROOM - l->size >= 24)
		l->size += text_put(l->text + l->size, value);
}

static void add_hex(struct line *l, uint32_t value)
{
	for (int i = 28; i >= 0; i -= 4)
		l->text[l->size++] = "0123456789abcdef"[value >> i & 15];
}

static void write_line(struct send *s, struct line *l)
{
	size_t at = 0;

	/* The line may not know that a line feed wants a carriage return before it. */
	add(l, "\r\n");
	while (at < l->size && !s->failed) {
		ssize_t done = write(s->fd, l->text + at, l->size - at);

		if (done < 0 && errno != EINTR)
			s->failed = true;
		else if (done > 0)
			at += (size_t)done;
	}
}

static void base64(struct line *l, const uint8_t *data, size_t size)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < size; i += 3) {
		uint32_t three = (uint32_t)data[i] << 16;

		three |= i + 1 < size ? (uint32_t)data[i + 1] << 8 : 0;
		three |= i + 2 < size ? data[i + 2] : 0;
		l->text[l->size++] = digits[three >> 18];
		l->text[l->size++] = digits[three >> 12 & 63];
		l->text[l->size++] = i + 1 < size ? digits[three >> 6 & 63] : '=';
		l->text[l->size++] = i + 2 < size ? digits[three & 63] : '=';
	}
}

static void data_line(struct send *s)
{
	struct line l = {.size = 0};

	add(&l, "@bs ");
	size_t from = l.size;
	add_num(&l, s->lines);
	add(&l, " ");
	base64(&l, s->data, s->held);
	uint32_t crc = crc32_of(0, l.text + from, l.size - from);
	add(&l, " ");
	add_hex(&l, crc);
	write_line(s, &l);
	s->lines++;
	s->held = 0;
}

void send_begin(struct send *s, int fd, const char *name)
{
	struct line l = {.size = 0};

	*s = (struct send){.fd = fd};
	/* Behind whatever somebody else has begun to print. */
	add(&l, "\r\nbootscope-agent: begin 1 ");
	add(&l, name);
	write_line(s, &l);
}

bool send_put(void *send, const uint8_t *data, size_t size)
{
	struct send *s = send;

	s->crc = crc32_of(s->crc, data, size);
	s->bytes += size;
	for (size_t i = 0; i < size; i++) {
		s->data[s->held++] = data[i];
		if (s->held == SEND_LINE)
			data_line(s);
	}
	return !s->failed;
}

bool send_end(struct send *s)
{
	struct line l = {.size = 0};

	if (s->held)
		data_line(s);
	add(&l, "bootscope-agent: end ");
	add_num(&l, s->lines);
	add(&l, " ");
	add_num(&l, s->bytes);
	add(&l, " ");
	add_hex(&l, s->crc);
	write_line(s, &l);
	return !s->failed;
}
