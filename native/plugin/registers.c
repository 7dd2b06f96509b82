// SPDX-License-Identifier: GPL-2.0-or-later
#include "registers.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "qemu_api.h"

#define MAX_REGISTERS 64
#define NAME_BYTES 16

static struct {
	char name[NAME_BYTES];
	struct qemu_plugin_register *handle;
	bool may_lack;
} registers[MAX_REGISTERS];
static uint8_t n_registers;
static GByteArray *buffer;

static bool is_name(const char *name, size_t size)
{
	if (!size || size >= NAME_BYTES || !isalpha((unsigned char)*name))
		return false;
	for (size_t i = 0; i < size; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '_')
			return false;
	return true;
}

uint8_t bs_register_number(const char *name, size_t size)
{
	if (!is_name(name, size))
		return BS_NO_REGISTER;
	for (uint8_t i = 0; i < n_registers; i++)
		if (strlen(registers[i].name) == size && !memcmp(registers[i].name, name, size))
			return i;
	if (n_registers == MAX_REGISTERS)
		return BS_NO_REGISTER;
	memcpy(registers[n_registers].name, name, size);
	return n_registers++;
}

void bs_register_may_lack(uint8_t number)
{
	registers[number].may_lack = true;
}

static struct qemu_plugin_register *handle_of(const GArray *all, const char *name)
{
	for (unsigned int i = 0; i < all->len; i++) {
		const qemu_plugin_reg_descriptor *r =
			&((const qemu_plugin_reg_descriptor *)(const void *)all->data)[i];
		if (!strcmp(r->name, name))
			return r->handle;
	}
	return NULL;
}

bool bs_registers_find(void)
{
	GArray *all = qemu_plugin_get_registers();
	bool good = true;

	buffer = g_byte_array_new();
	for (uint8_t i = 0; i < n_registers; i++) {
		registers[i].handle = handle_of(all, registers[i].name);
		if (!registers[i].handle && !registers[i].may_lack) {
			fprintf(stderr, "bootscope plugin: the CPU has no register %s\n", registers[i].name);
			good = false;
		}
	}
	g_array_free(all, true);
	return good;
}

uint64_t bs_register(uint8_t number)
{
	uint64_t value = 0;

	if (number >= n_registers || !registers[number].handle)
		return 0;
	g_byte_array_set_size(buffer, 0);
	/* What it returns differs between versions of the interface; the length does not. */
	qemu_plugin_read_register(registers[number].handle, buffer);
	if (buffer->len)
		memcpy(&value, buffer->data, buffer->len < 8 ? buffer->len : 8);
	return value;
}
