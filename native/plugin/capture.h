/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the guest's memory holds at a hook. Everything is read and nothing changed; what cannot be read
 * (a page that is not there, a pointer of 0 on the way) is 0 or an empty text.
 */
#ifndef BOOTSCOPE_CAPTURE_H
#define BOOTSCOPE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BS_MAX_STEPS 8
#define BS_MAX_HOOK_TEXT 200
#define BS_MAX_BYTES 4096

/*
 * An address: register, plus an offset, then as often as said: the pointer there, plus an offset. A pointer
 * before a narrow step has 32 bits, whatever words have.
 */
struct bs_chain {
	uint8_t reg, n;
	bool narrow[BS_MAX_STEPS];
	int32_t step[BS_MAX_STEPS];
};

/* Words, and so pointers, have so many bytes: 4 or 8. */
void bs_capture_init(uint32_t word_bytes);

/* A sum of addresses, cut to the bytes that one has. */
uint64_t bs_address(uint64_t sum);

/* The address at the end of the chain. False when a pointer on the way is 0 or cannot be read. */
bool bs_chain_address(const struct bs_chain *c, uint64_t *address);

/* The pointer-sized word there, and the integer of 32 bits there; 0 when it cannot be read. */
uint64_t bs_word(uint64_t vaddr);
uint64_t bs_int(uint64_t vaddr);

/* Copies at most BS_MAX_BYTES and returns how many: all of them, or 0 where a part cannot be read. */
size_t bs_bytes(uint64_t vaddr, uint64_t size, uint8_t *bytes);

/* Each returns the length; the text is not ended by a 0. */
size_t bs_text(uint64_t vaddr, uint8_t text[BS_MAX_HOOK_TEXT]);
size_t bs_text_list(uint64_t vaddr, uint8_t text[BS_MAX_HOOK_TEXT]);
size_t bs_path(uint64_t node, int32_t name_at, int32_t parent_at, uint8_t text[BS_MAX_HOOK_TEXT]);

#endif
