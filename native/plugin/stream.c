// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHUNK_BYTES (1u << 17)
#define MAX_RECORD 270u

struct header {
	char magic[8];
	uint32_t version;
	uint32_t header_bytes;
	_Atomic uint64_t committed; /* bytes of whole records after the header */
	uint32_t tick_ns;
	uint32_t reserved[9];
};
_Static_assert(sizeof(struct header) == BS_STREAM_HEADER, "the header is 64 bytes on disk");

static struct {
	int fd;
	struct header *header;
	uint8_t *window; /* the chunk being filled, always two chunks long */
	uint64_t window_at;
	uint64_t position;
	int64_t last_ns;
} out = {.fd = -1};

void bs_put_byte(struct bs_payload *p, uint8_t value)
{
	if (p->size < sizeof(p->bytes))
		p->bytes[p->size++] = value;
}

void bs_put_uint(struct bs_payload *p, uint64_t value)
{
	while (value >= 0x80) {
		bs_put_byte(p, (uint8_t)(value | 0x80));
		value >>= 7;
	}
	bs_put_byte(p, (uint8_t)value);
}

void bs_put_sint(struct bs_payload *p, int64_t value)
{
	bs_put_uint(p, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

void bs_put_bytes(struct bs_payload *p, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		bs_put_byte(p, data[i]);
}

static bool map_window(uint64_t at)
{
	if (out.window)
		munmap(out.window, 2 * CHUNK_BYTES);
	out.window = NULL;
	errno = posix_fallocate(out.fd, (off_t)at, 2 * CHUNK_BYTES);
	if (errno)
		return false;
	void *map = mmap(NULL, 2 * CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, out.fd, (off_t)at);
	if (map == MAP_FAILED)
		return false;
	out.window = map;
	out.window_at = at;
	return true;
}

bool bs_stream_open(const char *path, uint32_t tick_ns)
{
	out.fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (out.fd < 0 || !map_window(0))
		return false;
	void *head = mmap(NULL, BS_STREAM_HEADER, PROT_READ | PROT_WRITE, MAP_SHARED, out.fd, 0);
	if (head == MAP_FAILED)
		return false;
	out.header = head;
	memcpy(out.header->magic, "BSCOPE1\n", 8);
	out.header->version = BS_STREAM_VERSION;
	out.header->header_bytes = BS_STREAM_HEADER;
	out.header->tick_ns = tick_ns;
	out.position = BS_STREAM_HEADER;
	return true;
}

static void out_of_space(void)
{
	fprintf(stderr, "bootscope plugin: cannot extend the recording: %s\n", strerror(errno));
	_exit(ENOSPC);
}

void bs_stream_append(enum bs_record type, int64_t time_ns, const struct bs_payload *p)
{
	struct bs_payload stamp = {.size = 0};

	if (out.position + MAX_RECORD > out.window_at + 2 * CHUNK_BYTES) {
		uint64_t at = out.position & ~(uint64_t)(CHUNK_BYTES - 1);
		if (!map_window(at))
			out_of_space();
	}
	bs_put_sint(&stamp, time_ns - out.last_ns);
	out.last_ns = time_ns;

	uint8_t *to = out.window + (out.position - out.window_at);
	to[0] = (uint8_t)type;
	to[1] = p->size;
	memcpy(to + 2, stamp.bytes, stamp.size);
	memcpy(to + 2 + stamp.size, p->bytes, p->size);
	out.position += 2u + stamp.size + p->size;
	atomic_store_explicit(&out.header->committed, out.position - BS_STREAM_HEADER,
			      memory_order_release);
}
