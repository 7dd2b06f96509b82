// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qemu_api.h"

static struct {
	uint8_t *stored; /* one byte a cell: faster than bits, and frames are small */
	uint64_t cells, missing, size;
	uint32_t cell;
} fr;

bool bs_frame_init(const struct bs_frame *frame)
{
	fr.cell = frame->cell;
	fr.size = frame->size;
	fr.cells = fr.missing = frame->size / frame->cell;
	fr.stored = calloc(fr.cells ? fr.cells : 1, 1);
	return fr.cells && fr.stored;
}

enum bs_frame_news bs_frame_store(uint64_t offset, uint64_t size)
{
	bool untouched = fr.missing == fr.cells;
	uint64_t last = offset + size > fr.size ? fr.size : offset + size;

	for (uint64_t c = offset / fr.cell; c * fr.cell < last; c++) {
		if (!fr.stored[c]) {
			fr.stored[c] = 1;
			fr.missing--;
		}
	}
	if (!fr.missing) {
		memset(fr.stored, 0, fr.cells);
		fr.missing = fr.cells;
		return BS_FRAME_WHOLE;
	}
	return untouched ? BS_FRAME_TOUCHED : BS_FRAME_NOTHING;
}

bool bs_frame_copy(const struct bs_frame *frame, uint64_t vaddr)
{
	char part[BS_PATH_BYTES + 8];
	GByteArray *bytes = g_byte_array_new();
	bool good = qemu_plugin_read_memory_vaddr(vaddr, bytes, frame->size);

	snprintf(part, sizeof(part), "%s.part", frame->path);
	FILE *f = good ? fopen(part, "we") : NULL;
	good = f && fwrite(bytes->data, 1, bytes->len, f) == frame->size;
	if (f && fclose(f))
		good = false;
	g_byte_array_free(bytes, true);
	return good && !rename(part, frame->path);
}
