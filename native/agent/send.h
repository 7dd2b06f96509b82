/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file sent over a serial line that others write to as well: lines of text, each with its number and
 * checksum, so that what is torn can be told and mended.
 *
 *     bootscope-agent: begin 1 NAME
 *     @bs 0 BASE64 CRC        up to 54 bytes; CRC32 over "0 BASE64" in hexadecimal
 *     @bs 1 BASE64 CRC
 *     bootscope-agent: end LINES BYTES CRC      CRC32 over all bytes
 */
#ifndef AGENT_SEND_H
#define AGENT_SEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SEND_LINE = 54 };

struct send {
	int fd;
	bool failed;
	uint32_t lines, crc;
	uint64_t bytes;
	size_t held; /* bytes of the line that is not full yet */
	uint8_t data[SEND_LINE];
};

void send_begin(struct send *s, int fd, const char *name);
/* Has the form of pack_put. */
bool send_put(void *send, const uint8_t *data, size_t size);
bool send_end(struct send *s);

#endif
