/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The output file: a header and a run of records, written through a shared mapping.
 *
 * The kernel owns the pages from the moment they are stored, so a QEMU that is killed loses
 * nothing; the committed length in the header moves only after a record is whole, so a reader
 * never sees half of one. File blocks are allocated ahead with posix_fallocate(), so a full disk
 * is an error here and not a SIGBUS in QEMU.
 */
#ifndef BOOTSCOPE_STREAM_H
#define BOOTSCOPE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BS_STREAM_VERSION 1u
#define BS_STREAM_HEADER 64u

enum bs_record {
	BS_REC_IO = 1,	      /* store to a watched device register */
	BS_REC_HOOK = 2,      /* a hooked program address was reached */
	BS_REC_SAMPLE = 3,    /* program counter, taken at a fixed virtual period */
	BS_REC_IDLE = 4,      /* the CPU, or all of several, slept; the stamp is the wake-up */
	BS_REC_TOUCH = 5,     /* first store of a frame */
	BS_REC_FRAME = 6,     /* every cell of a frame has been stored to */
	BS_REC_TEXT = 7,      /* a watched text went through a device register */
	BS_REC_CLOCK = 8,     /* how far the counted clock was off at resynchronisation */
	BS_REC_END = 9,	      /* the plugin stopped recording, and why */
	BS_REC_STACK = 10,    /* program counter, link register, and what may be return addresses */
	BS_REC_CPU = 11,      /* which CPU the records from here on are of; the first until then */
	BS_REC_BYTES = 12,    /* the next of the bytes that the hook before took */
	BS_REC_CPUS = 13,     /* several CPUs, each with a time of its own: how many, and the quantum */
	BS_REC_SLEPT = 14,    /* one of several CPUs slept, or waited for others; the stamp is the wake-up */
	BS_REC_LIGHT = 15,    /* the first store of a colour to a picture that was dark */
	BS_REC_READ = 16,     /* loads from flash, in order of its addresses; the stamp is the last one's */
	BS_REC_WAITED = 17,   /* the CPU waited for a device, in all since the record before; the stamp is the end */
};

enum bs_end {
	BS_END_STOP_HOOK = 1,
	BS_END_STOP_FRAME = 2,
	BS_END_STOP_TEXT = 3,
	BS_END_LIMIT = 4,
	BS_END_QUIET = 5,
	BS_END_STOP_LIGHT = 6,
};

/* One record's payload while it is put together; the longest is 255 bytes. */
struct bs_payload {
	uint8_t bytes[255];
	uint8_t size;
};

void bs_put_byte(struct bs_payload *p, uint8_t value);
void bs_put_uint(struct bs_payload *p, uint64_t value);  /* LEB128 */
void bs_put_sint(struct bs_payload *p, int64_t value);   /* zigzag, then LEB128 */
void bs_put_bytes(struct bs_payload *p, const uint8_t *data, size_t size);

/* Makes the file. Returns false with errno set. */
bool bs_stream_open(const char *path, uint32_t tick_ns);

/*
 * Appends one record stamped time_ns. On disk: type, payload size, stamp as the signed distance
 * from the record before, payload. A full disk ends the process with status 28 (ENOSPC) after
 * saying so: half a recording that looks whole would be worse.
 */
void bs_stream_append(enum bs_record type, int64_t time_ns, const struct bs_payload *p);

#endif
