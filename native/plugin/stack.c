// SPDX-License-Identifier: GPL-2.0-or-later
#include "stack.h"

#include <string.h>

#include "qemu_api.h"
#include "record.h"

#define PAGE_BYTES 4096u
#define WORD_BYTES 4u
#define LARGEST_ENTRY 8

static GByteArray *bytes;

static bool in_code(const struct bs_watch *w, uint32_t address)
{
	for (size_t i = 0; i < w->n_return; i++)
		if (address >= w->code_return[i].start && address < w->code_return[i].end)
			return true;
	return false;
}

static bool follows_call(const struct bs_watch *w, uint32_t address)
{
	for (size_t i = 0; i < w->n_call; i++) {
		const struct bs_idle *call = &w->call[i];
		uint32_t opcode = 0;

		if (call->size > sizeof(opcode) ||
		    !qemu_plugin_read_memory_vaddr(address - call->size, bytes, call->size))
			continue;
		memcpy(&opcode, bytes->data, call->size);
		if ((opcode & call->mask) == call->value)
			return true;
	}
	return false;
}

/* Copies the stack as far as its pages are there; returns the number of bytes. */
static uint32_t copy(uint32_t sp, uint32_t wanted, uint8_t *to)
{
	uint32_t got = 0;

	while (got < wanted) {
		uint32_t part = PAGE_BYTES - (sp + got) % PAGE_BYTES;
		if (part > wanted - got)
			part = wanted - got;
		if (!qemu_plugin_read_memory_vaddr(sp + got, bytes, part))
			break;
		memcpy(to + got, bytes->data, part);
		got += part;
	}
	return got;
}

void bs_stack_record(const struct bs_watch *w, uint64_t pc, int64_t now_ns)
{
	static uint8_t stack[BS_MAX_STACK_BYTES];
	struct bs_payload p = {.size = 0};
	uint32_t sp = (uint32_t)bs_register(BS_REG_SP);

	if (!bytes)
		bytes = g_byte_array_new();
	bs_put_uint(&p, pc);
	bs_put_uint(&p, bs_register(BS_REG_LR));
	bs_put_uint(&p, bs_register(BS_REG_FLAGS));
	uint32_t size = copy(sp, w->stack.bytes, stack);
	for (uint32_t at = 0; at + WORD_BYTES <= size; at += WORD_BYTES) {
		uint32_t word;
		memcpy(&word, stack + at, WORD_BYTES);
		/* The lowest bit tells Thumb code from ARM code and is no part of the address. */
		if (!in_code(w, word & ~1u) || !follows_call(w, word & ~1u))
			continue;
		if ((size_t)p.size + LARGEST_ENTRY > sizeof(p.bytes))
			break;
		bs_put_uint(&p, at / WORD_BYTES);
		bs_put_uint(&p, word);
	}
	bs_record(BS_REC_STACK, now_ns, &p);
}
