// SPDX-License-Identifier: GPL-2.0-or-later
#include <linux/string.h>
#include <linux/types.h>
#include <linux/unaligned.h>

#define STEP 4
#define ROUND (2 * STEP)
#define LEAST 4
#define FULL 15

static unsigned int more(const u8 **in)
{
	unsigned int all = 0, byte;

	do {
		byte = *(*in)++;
		all += byte;
	} while (byte == 255);
	return all;
}

static void copy(u8 *to, const u8 *from, const u8 *stop)
{
	do {
		put_unaligned(get_unaligned((const u32 *)from), (u32 *)to);
		put_unaligned(get_unaligned((const u32 *)(from + STEP)), (u32 *)(to + STEP));
		to += ROUND;
		from += ROUND;
	} while (to < stop);
}

int LZ4_decompress_fast(const char *source, char *dest, int size)
{
	const u8 *in = (const u8 *)source, *from;
	u8 *to = (u8 *)dest, *end = to + size, *stop;

	for (;;) {
		unsigned int token = *in++, length = token >> 4;

		if (length == FULL)
			length += more(&in);
		stop = to + length;
		if (stop > end - ROUND) {
			if (stop != end)
				return -1;
			memcpy(to, in, length);
			return in + length - (const u8 *)source;
		}
		copy(to, in, stop);
		in += length;
		to = stop;
		from = to - get_unaligned_le16(in);
		in += 2;
		length = token & FULL;
		if (length == FULL)
			length += more(&in);
		stop = to + length + LEAST;
		if (from < (const u8 *)dest || stop > end)
			return -1;
		if (to - from < STEP || stop > end - ROUND)
			while (to < stop)
				*to++ = *from++;
		else
			copy(to, from, stop);
		to = stop;
	}
}
