/* SPDX-License-Identifier: Apache-2.0 */
/* A tar archive, packed by gzip, handed on piece by piece. */
#ifndef AGENT_PACK_H
#define AGENT_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PACK_HASH = 4096, PACK_OUT = 4096 };

/* Takes packed bytes; false ends the packing. */
typedef bool (*pack_put)(void *to, const uint8_t *data, size_t size);

struct pack {
	pack_put put;
	void *to;
	bool failed;
	uint32_t crc, size; /* of what was packed, as gzip wants them at the end */
	uint64_t packed;    /* bytes handed on */
	uint32_t bits;	    /* not yet in `out` */
	unsigned int bit_count;
	size_t used;
	uint8_t out[PACK_OUT];
	uint32_t last[PACK_HASH]; /* where three bytes of that hash were seen last, plus one */
};

void pack_begin(struct pack *p, pack_put put, void *to);
void pack_add(struct pack *p, const void *data, size_t size);
bool pack_end(struct pack *p);

/* A file of the archive; `mtime` in s since 1970. */
void tar_file(struct pack *p, const char *name, const void *data, size_t size, uint64_t mtime);
/* What stands at the end of an archive. */
void tar_end(struct pack *p);

uint32_t crc32_of(uint32_t crc, const void *data, size_t size);

#endif
