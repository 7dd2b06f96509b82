// SPDX-License-Identifier: GPL-2.0-or-later
#include "stack.h"

#include <string.h>

#include "qemu_api.h"
#include "record.h"
#include "registers.h"

#define PAGE_BYTES 4096u

static GByteArray *bytes;

static bool in_code(const struct bs_watch *w, uint64_t address)
{
	for (size_t i = 0; i < w->n_return; i++)
		if (address >= w->code_return[i].start && address < w->code_return[i].end)
			return true;
	return false;
}

static bool follows_call(const struct bs_watch *w, uint64_t address)
{
	for (size_t i = 0; i < w->n_call; i++) {
		const struct bs_opcode *call = &w->call[i];
		uint64_t opcode = 0;

		if (call->size > sizeof(opcode) ||
		    !qemu_plugin_read_memory_vaddr(bs_address(address - call->size), bytes, call->size))
			continue;
		memcpy(&opcode, bytes->data, call->size);
		if ((opcode & call->mask) == call->value)
			return true;
	}
	return false;
}

/* Copies the stack as far as its pages are there; returns the number of bytes. */
static uint32_t copy(uint64_t sp, uint32_t wanted, uint8_t *to)
{
	uint32_t got = 0;

	while (got < wanted) {
		uint32_t part = PAGE_BYTES - (uint32_t)((sp + got) % PAGE_BYTES);
		if (part > wanted - got)
			part = wanted - got;
		if (!qemu_plugin_read_memory_vaddr(bs_address(sp + got), bytes, part))
			break;
		memcpy(to + got, bytes->data, part);
		got += part;
	}
	return got;
}

/* Adds the words that may be return addresses, as far as there is room for them. */
static void add_returns(const struct bs_watch *w, const uint8_t *stack, uint32_t size, struct bs_payload *p)
{
	uint32_t step = w->word_bytes;
	/* A distance has up to two bytes of 7 bits, a word as many as it needs; one is spare. */
	size_t largest = 3 + (8 * step + 6) / 7;

	for (uint32_t at = 0; at + step <= size; at += step) {
		uint64_t word = 0, address;
		memcpy(&word, stack + at, step);
		address = word & ~w->mode_bits;
		if (!in_code(w, address) || !follows_call(w, address))
			continue;
		if (p->size + largest > sizeof(p->bytes))
			break;
		bs_put_uint(p, at / step);
		bs_put_uint(p, word);
	}
}

void bs_stack_record(const struct bs_watch *w, uint64_t pc, int64_t now_ns)
{
	static uint8_t stack[BS_MAX_STACK_BYTES];
	struct bs_payload p = {.size = 0};

	if (!bytes)
		bytes = g_byte_array_new();
	bs_put_uint(&p, pc);
	bs_put_uint(&p, bs_register(w->link));
	bs_put_uint(&p, bs_register(w->flags));
	add_returns(w, stack, copy(bs_register(w->sp), w->stack.bytes, stack), &p);
	bs_record(BS_REC_STACK, now_ns, &p);
}
