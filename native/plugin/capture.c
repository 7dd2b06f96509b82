// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture.h"

#include <stdlib.h>
#include <string.h>

#include "qemu_api.h"

#define MAX_LIST 32
#define MAX_DEPTH 16

static struct qemu_plugin_register *registers[BS_N_REGS];
static GByteArray *buffer;

static void learn(const char *name, struct qemu_plugin_register *handle)
{
	static const struct {
		const char *name;
		unsigned int number;
	} special[] = {{"sp", BS_REG_SP}, {"lr", BS_REG_LR}, {"pc", BS_REG_PC}, {"cpsr", BS_REG_FLAGS}};
	char *end;

	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++)
		if (!strcmp(name, special[i].name) && !registers[special[i].number])
			registers[special[i].number] = handle;
	/* General registers are called r0.. or x0.., whatever else the target has. */
	if (name[0] != 'r' && name[0] != 'x')
		return;
	long number = strtol(name + 1, &end, 10);
	if (end != name + 1 && !*end && number >= 0 && number < BS_N_REGS)
		registers[number] = handle;
}

void bs_capture_init(void)
{
	GArray *all = qemu_plugin_get_registers();

	buffer = g_byte_array_new();
	for (unsigned int i = 0; i < all->len; i++) {
		const qemu_plugin_reg_descriptor *r =
			&((const qemu_plugin_reg_descriptor *)(const void *)all->data)[i];
		learn(r->name, r->handle);
	}
	g_array_free(all, true);
}

uint64_t bs_register(unsigned int number)
{
	uint64_t value = 0;

	g_byte_array_set_size(buffer, 0);
	/* What it returns differs between versions of the interface; the length does not. */
	if (number < BS_N_REGS && registers[number])
		qemu_plugin_read_register(registers[number], buffer);
	if (buffer->len)
		memcpy(&value, buffer->data, buffer->len < 8 ? buffer->len : 8);
	return value;
}

uint64_t bs_word(uint64_t vaddr)
{
	uint32_t value = 0;

	if (qemu_plugin_read_memory_vaddr(vaddr, buffer, sizeof(value)))
		memcpy(&value, buffer->data, sizeof(value));
	return value;
}

bool bs_chain_address(const struct bs_chain *c, uint64_t *address)
{
	uint64_t at = bs_register(c->reg);

	for (uint8_t i = 0; i < c->n; i++) {
		if (i)
			at = bs_word(at);
		if (!at)
			return false;
		at = (uint32_t)(at + (uint64_t)(int64_t)c->step[i]);
	}
	*address = at;
	return true;
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
		uint64_t entry = bs_word(vaddr + 4u * (unsigned int)i);
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

bool bs_condition_holds(unsigned int cond)
{
	uint64_t flags = bs_register(BS_REG_FLAGS);
	bool n = flags >> 31 & 1, z = flags >> 30 & 1, c = flags >> 29 & 1, v = flags >> 28 & 1;
	bool holds[] = {z, c, n, v, c && !z, n == v, n == v && !z, true};

	/* The lowest bit of a condition turns it round. */
	return cond >= 14 || holds[cond / 2] != (cond & 1);
}
