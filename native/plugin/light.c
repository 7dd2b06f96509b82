// SPDX-License-Identifier: GPL-2.0-or-later
#include "light.h"

#include "config_space.h"
#include "cpus.h"

#define PAGE_BYTES 1024u /* the smallest that a guest may map by itself */

static struct {
	bool lit;
	uint64_t dark_page; /* the page of the last store, plus 1, if that was not to the picture */
} li;

/* The bytes of a store, in the order of their addresses in a guest whose lowest byte comes first. */
static size_t stored_bytes(qemu_plugin_meminfo_t info, uint8_t bytes[16])
{
	qemu_plugin_mem_value v = qemu_plugin_mem_get_value(info);
	uint64_t low = v.data.u64, high = 0;
	size_t size = 8;

	switch (v.type) {
	case QEMU_PLUGIN_MEM_VALUE_U8:
		low = v.data.u8;
		size = 1;
		break;
	case QEMU_PLUGIN_MEM_VALUE_U16:
		low = v.data.u16;
		size = 2;
		break;
	case QEMU_PLUGIN_MEM_VALUE_U32:
		low = v.data.u32;
		size = 4;
		break;
	case QEMU_PLUGIN_MEM_VALUE_U128:
		low = v.data.u128.low;
		high = v.data.u128.high;
		size = 16;
		break;
	default:
		break;
	}
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)((i < 8 ? low : high) >> (i % 8 * 8));
	return size;
}

static bool has_colour(const struct bs_light *light, uint64_t at, uint8_t byte)
{
	return byte & light->colour >> (at % light->cell * 8);
}

bool bs_light_store(const struct bs_light *light, qemu_plugin_meminfo_t info, uint64_t vaddr,
		    uint64_t *offset)
{
	uint8_t bytes[16];

	if (li.lit || vaddr / PAGE_BYTES + 1 == li.dark_page)
		return false;
	if (bs_config_page(vaddr)) /* config_space.h says why */
		return false;
	struct qemu_plugin_hwaddr *hw = qemu_plugin_get_hwaddr(info, vaddr);
	uint64_t phys = hw ? qemu_plugin_hwaddr_phys_addr(hw) : 0;
	/*
	 * A page is asked for once, as long as all stores go there: what lies at an address of a CPU changes
	 * only by stores elsewhere, to tables or to what a switch of tasks saves.
	 */
	li.dark_page = bs_cpus_one() ? vaddr / PAGE_BYTES + 1 : 0;
	if (phys + sizeof(bytes) <= light->start || phys >= light->start + light->size)
		return false;
	li.dark_page = 0;
	size_t size = stored_bytes(info, bytes);
	for (size_t i = 0; i < size; i++) {
		uint64_t at = phys + i - light->start;
		if (phys + i < light->start || at >= light->size || !has_colour(light, at, bytes[i]))
			continue;
		li.lit = true;
		*offset = at;
		return true;
	}
	return false;
}
