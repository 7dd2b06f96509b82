// SPDX-License-Identifier: Apache-2.0
#include "pack.h"

#include <string.h>

enum { WINDOW = 32768, SHORTEST = 3, LONGEST = 258, END_OF_BLOCK = 256, BLOCK = 512, NAME = 100 };

uint32_t crc32_of(uint32_t crc, const void *data, size_t size)
{
	/* Four bits at a time: a table of 64 bytes instead of 1,024. */
	static const uint32_t table[16] = {
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
		0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	};
	const uint8_t *at = data;

	crc = ~crc;
	for (; size; size--, at++) {
		crc = table[(crc ^ *at) & 15] ^ crc >> 4;
		crc = table[(crc ^ *at >> 4) & 15] ^ crc >> 4;
	}
	return ~crc;
}

static void flush(struct pack *p)
{
	if (!p->failed && p->used && !p->put(p->to, p->out, p->used))
		p->failed = true;
	p->packed += p->used;
	p->used = 0;
}

static void byte(struct pack *p, uint8_t value)
{
	if (p->used == PACK_OUT)
		flush(p);
	p->out[p->used++] = value;
}

static void word(struct pack *p, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		byte(p, (uint8_t)(value >> 8 * i));
}

static void bits(struct pack *p, uint32_t value, unsigned int count)
{
	p->bits |= value << p->bit_count;
	p->bit_count += count;
	for (; p->bit_count >= 8; p->bit_count -= 8, p->bits >>= 8)
		byte(p, (uint8_t)p->bits);
}

/* Huffman codes are sent with their highest bit first. */
static void code(struct pack *p, uint32_t value, unsigned int count)
{
	uint32_t turned = 0;

	for (unsigned int i = 0; i < count; i++)
		turned |= (value >> i & 1) << (count - 1 - i);
	bits(p, turned, count);
}

/* A byte, or a length's symbol, in the fixed code of RFC 1951, 3.2.6. */
static void symbol(struct pack *p, unsigned int s)
{
	if (s < 144)
		code(p, 0x30 + s, 8);
	else if (s < 256)
		code(p, 0x190 + s - 144, 9);
	else if (s < 280)
		code(p, s - 256, 7);
	else
		code(p, 0xc0 + s - 280, 8);
}

/* Lengths and distances come in groups, each twice as wide as the one `step` groups before it. */
static void grouped(struct pack *p, uint32_t value, unsigned int step_bits, void (*send)(struct pack *, uint32_t))
{
	unsigned int extra = 0;

	while (value >> (extra + step_bits + 1))
		extra++;
	send(p, (extra << step_bits) + (value >> extra));
	bits(p, value & ((1u << extra) - 1), extra);
}

static void send_length(struct pack *p, uint32_t group)
{
	symbol(p, 257 + group);
}

static void send_distance(struct pack *p, uint32_t group)
{
	code(p, group, 5);
}

static void copy(struct pack *p, size_t length, size_t distance)
{
	/* The longest has a symbol of its own. */
	if (length == LONGEST)
		symbol(p, 285);
	else
		grouped(p, (uint32_t)(length - SHORTEST), 2, send_length);
	grouped(p, (uint32_t)(distance - 1), 1, send_distance);
}

void pack_begin(struct pack *p, pack_put put, void *to)
{
	/* No name, no time, made on Unix. */
	static const uint8_t head[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};

	memset(p, 0, sizeof(*p));
	p->put = put;
	p->to = to;
	for (size_t i = 0; i < sizeof(head); i++)
		byte(p, head[i]);
}

/* How many bytes at a and b are alike. */
static size_t alike(const uint8_t *a, const uint8_t *b, size_t most)
{
	size_t n = 0;

	while (n < most && a[n] == b[n])
		n++;
	return n;
}

void pack_add(struct pack *p, const void *data, size_t size)
{
	const uint8_t *in = data;

	p->crc = crc32_of(p->crc, data, size);
	p->size += (uint32_t)size;
	memset(p->last, 0, sizeof(p->last));
	/* A block that is not the last one, with the fixed code. */
	bits(p, 0, 1);
	bits(p, 1, 2);
	for (size_t at = 0; at < size && !p->failed;) {
		size_t length = 0, from = 0;

		if (size - at >= SHORTEST) {
			uint32_t three = in[at] | (uint32_t)in[at + 1] << 8 | (uint32_t)in[at + 2] << 16;
			uint32_t *last = &p->last[three * 0x9e3779b1u >> 20];

			from = *last;
			*last = (uint32_t)at + 1;
			if (from && at + 1 - from <= WINDOW)
				length = alike(in + from - 1, in + at, size - at < LONGEST ? size - at : LONGEST);
		}
		if (length >= SHORTEST) {
			copy(p, length, at + 1 - from);
			at += length;
		} else {
			symbol(p, in[at++]);
		}
	}
	symbol(p, END_OF_BLOCK);
}

bool pack_end(struct pack *p)
{
	/* An empty last block. */
	bits(p, 1, 1);
	bits(p, 1, 2);
	symbol(p, END_OF_BLOCK);
	bits(p, 0, (8 - p->bit_count) % 8);
	word(p, p->crc);
	word(p, p->size);
	flush(p);
	return !p->failed;
}

/* A number in octal digits, which fill `size` bytes but the last. */
static void octal(char *to, size_t size, uint64_t value)
{
	for (size_t i = size - 1; i-- > 0; value >>= 3)
		to[i] = (char)('0' + (value & 7));
}

void tar_file(struct pack *p, const char *name, const void *data, size_t size, uint64_t mtime)
{
	char head[BLOCK] = {0};
	static char zeros[BLOCK];
	uint64_t sum = 0;

	for (size_t i = 0; i < NAME - 1 && name[i]; i++)
		head[i] = name[i];
	octal(head + 100, 8, 0644);
	octal(head + 108, 8, 0);
	octal(head + 116, 8, 0);
	octal(head + 124, 12, size);
	octal(head + 136, 12, mtime);
	memset(head + 148, ' ', 8);
	head[156] = '0';
	memcpy(head + 257, "ustar\00000", 8);
	for (size_t i = 0; i < BLOCK; i++)
		sum += (uint8_t)head[i];
	octal(head + 148, 7, sum);
	pack_add(p, head, BLOCK);
	if (size)
		pack_add(p, data, size);
	if (size % BLOCK)
		pack_add(p, zeros, BLOCK - size % BLOCK);
}

void tar_end(struct pack *p)
{
	static char zeros[2 * BLOCK];

	pack_add(p, zeros, sizeof(zeros));
}
