/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers of the CPU, by the names that QEMU has for them. Which of them plays which part is said by
 * the watch file; here nothing is known of any architecture.
 */
#ifndef BOOTSCOPE_REGISTERS_H
#define BOOTSCOPE_REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BS_NO_REGISTER 255

/* Remembers a name of `size` bytes and gives its number; BS_NO_REGISTER when it is none, or one too many. */
uint8_t bs_register_number(const char *name, size_t size);

/* Not every CPU needs to have it: one that does not holds 0. */
void bs_register_may_lack(uint8_t number);

/* Looks the names up, once there is a CPU. Says on stderr which one it does not have, and returns false. */
bool bs_registers_find(void);

/* What the register holds; 0 for BS_NO_REGISTER. */
uint64_t bs_register(uint8_t number);

#endif
