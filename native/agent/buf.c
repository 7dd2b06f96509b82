// SPDX-License-Identifier: Apache-2.0
#include "buf.h"

#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, FIRST = 16 * PAGE };

size_t buf_left = SIZE_MAX;

static bool grow(struct buf *b, size_t needed)
{
	size_t room = b->room ? b->room : FIRST;

	while (room < needed) {
		if (room > SIZE_MAX / 2)
			return false;
		room *= 2;
	}
	if (room - b->room > buf_left) {
		/* The last bit of the limit need not be a power of two. */
		room = (needed + PAGE - 1) / PAGE * PAGE;
		if (room < needed || room - b->room > buf_left)
			return false;
	}
	void *data = b->data ? mremap(b->data, b->room, room, MREMAP_MAYMOVE)
			     : mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (data == MAP_FAILED)
		return false;
	buf_left -= room - b->room;
	b->data = data;
	b->room = room;
	return true;
}

bool buf_reserve(struct buf *b, size_t more)
{
	if (b->room - b->used >= more)
		return true;
	if (more <= SIZE_MAX - b->used && grow(b, b->used + more))
		return true;
	b->cut = true;
	return false;
}

bool buf_add(struct buf *b, const void *data, size_t size)
{
	if (!size)
		return true;
	if (!buf_reserve(b, size))
		return false;
	memcpy(b->data + b->used, data, size);
	b->used += size;
	return true;
}

LATE void buf_str(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text));
}

LATE void buf_char(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

LATE void buf_num(struct buf *b, uint64_t value)
{
	char digits[24];

	buf_add(b, digits, text_put(digits, value));
}

void buf_free(struct buf *b)
{
	if (b->data) {
		munmap(b->data, b->room);
		buf_left += b->room;
	}
	*b = (struct buf){0};
}

uint64_t text_num(const char **at, const char *end)
{
	const char *p = *at;
	uint64_t value = 0;

	while (p < end && *p >= '0' && *p <= '9')
		value = value * 10 + (uint64_t)(*p++ - '0');
	*at = p;
	return value;
}

bool text_whole(const char *text, uint64_t most, uint64_t *value)
{
	const char *at = text, *end = text + strlen(text);

	if (at == end || end - at > 18)
		return false;
	*value = text_num(&at, end);
	return at == end && *value <= most;
}

bool text_has(const char *text, size_t size, const char *what)
{
	size_t n = strlen(what);

	for (; size >= n; text++, size--)
		if (!memcmp(text, what, n))
			return true;
	return false;
}

size_t text_put(char *to, uint64_t value)
{
	char digits[24];
	size_t n = 0;

	do {
		digits[n++] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	for (size_t i = 0; i < n; i++)
		to[i] = digits[n - 1 - i];
	return n;
}
