// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture.h"

#include <string.h>

#include "qemu_api.h"
#include "registers.h"

#define MAX_LIST 32
#define MAX_DEPTH 16

static GByteArray *buffer;
static uint32_t word_bytes;

void bs_capture_init(uint32_t bytes)
{
	buffer = g_byte_array_new();
	word_bytes = bytes;
}

uint64_t bs_address(uint64_t sum)
{
	return word_bytes == 4 ? (uint32_t)sum : sum;
}

static uint64_t number_at(uint64_t vaddr, size_t size)
{
	uint64_t value = 0;

	if (qemu_plugin_read_memory_vaddr(vaddr, buffer, size))
		memcpy(&value, buffer->data, size);
	return value;
}

uint64_t bs_word(uint64_t vaddr)
{
	return number_at(vaddr, word_bytes);
}

uint64_t bs_int(uint64_t vaddr)
{
	return number_at(vaddr, sizeof(uint32_t));
}

bool bs_chain_address(const struct bs_chain *c, uint64_t *address)
{
	uint64_t at = bs_register(c->reg);

	for (uint8_t i = 0; i < c->n; i++) {
		if (i)
			at = c->narrow[i] ? bs_int(at) : bs_word(at);
		if (!at)
			return false;
		at = bs_address(at + (uint64_t)(int64_t)c->step[i]);
	}
	*address = at;
	return true;
}

size_t bs_bytes(uint64_t vaddr, uint64_t size, uint8_t *bytes)
{
	if (size > BS_MAX_BYTES)
		size = BS_MAX_BYTES;
	if (!size || !qemu_plugin_read_memory_vaddr(vaddr, buffer, size))
		return 0;
	memcpy(bytes, buffer->data, size);
	return size;
}

/* Appends the text at vaddr as far as it can be read: byte by byte, since the next page may be missing. */
static size_t append(uint64_t vaddr, uint8_t *text, size_t size)
{
	while (size < BS_MAX_HOOK_TEXT && qemu_plugin_read_memory_vaddr(vaddr, buffer, 1) && buffer->data[0]) {
		text[size++] = buffer->data[0];
		vaddr++;
	}
	return size;
}

size_t bs_text(uint64_t vaddr, uint8_t text[BS_MAX_HOOK_TEXT])
{
	return append(vaddr, text, 0);
}

size_t bs_text_list(uint64_t vaddr, uint8_t text[BS_MAX_HOOK_TEXT])
{
	size_t size = 0;

	for (int i = 0; i < MAX_LIST && size < BS_MAX_HOOK_TEXT; i++) {
		uint64_t entry = bs_word(vaddr + (uint64_t)word_bytes * (unsigned int)i);
		if (!entry)
			break;
		if (i)
			text[size++] = 0;
		size = append(entry, text, size);
	}
	return size;
}

/* From a node up to the one that is its own parent; the names, joined by '/', root first. */
size_t bs_path(uint64_t node, int32_t name_at, int32_t parent_at, uint8_t text[BS_MAX_HOOK_TEXT])
{
	uint64_t up[MAX_DEPTH];
	size_t n = 0, size = 0;

	while (node && n < MAX_DEPTH) {
		uint64_t parent = bs_word(node + (uint64_t)(int64_t)parent_at);
		if (parent == node)
			break;
		up[n++] = node;
		node = parent;
	}
	while (n && size < BS_MAX_HOOK_TEXT) {
		text[size++] = '/';
		size = append(bs_word(up[--n] + (uint64_t)(int64_t)name_at), text, size);
	}
	return size;
}
