// SPDX-License-Identifier: Apache-2.0
/*
 * Falcon mode of Trusted Firmware-A: BL2 loads Linux from an SD card in the place of BL33, puts command line
 * and frame buffer into the device tree, and BL31 starts it. BL33 of the package, U-Boot, is the way back: it
 * is started when a 'c' waits on the serial line, or when the card has no kernel where it should be.
 *
 * The kernel lies in sectors of the card with the header of a uImage, as it is or packed by lz4. linux.h is
 * written by bootscope: LINUX_SECTOR, LINUX_ADDRESS, LINUX_ROOM, PACKED_ADDRESS, TABLE_ADDRESS, BOOTARGS,
 * CARD_BASE, CONFIG_SPACE, and what begins with FRAMEBUFFER_.
 *
 * Sources: SD Host Controller Simplified Specification 3.00; SD Physical Layer Simplified Specification 3.01;
 * LZ4 Block and Frame Format Descriptions; Linux Documentation/arch/arm64/booting.rst.
 */
#include <stdbool.h>
#include <string.h>

#include <arch_helpers.h>
#include <common/debug.h>
#include <common/desc_image_load.h>
#include <lib/mmio.h>
#include <lib/xlat_tables/xlat_tables_v2.h>
#include <libfdt.h>
#include <plat/common/platform.h>
#include <platform_def.h>

#include "linux.h"

/* ---- the card ---- */

#define BLOCK_SIZE 0x04
#define BLOCKS 0x06
#define ARGUMENT 0x08
#define MODE 0x0c
#define COMMAND 0x0e
#define RESPONSE 0x10
#define STATE 0x24
#define HOST_CONTROL 0x28
#define POWER 0x29
#define CLOCK 0x2c
#define TIMEOUT 0x2e
#define RESET 0x2f
#define STATUS 0x30
#define STATUS_ENABLE 0x34
#define CAPABILITIES 0x40
#define TABLE 0x58

#define DONE_COMMAND (1U << 0)
#define DONE_DATA (1U << 1)
#define FAILED (1U << 15)
#define BUSY (3U << 0)

#define NO_ANSWER 0U
#define LONG_ANSWER 1U
#define ANSWER 2U
#define CHECKED (3U << 3)
#define WITH_DATA (1U << 5)

#define SECTOR_BYTES 512U
#define PIECE_BYTES 0x8000U
#define MOST_SECTORS 0xffffU
#define MODE_READ (0x01U | 0x02U | 0x04U | 0x10U | 0x20U) /* DMA, counted, CMD12 by itself, read, several */

#define PCI_COMMAND 0x04
#define PCI_CLASS 0x08
#define PCI_BAR0 0x10
#define PCI_MEMORY_AND_MASTER 0x06
#define PCI_DEVICES 32U
#define SD_CONTROLLER 0x0805

struct piece {
	uint16_t what, bytes;
	uint32_t address;
};

static uint32_t relative_address;
static bool by_sectors;

static uint64_t ticks(unsigned int ms)
{
	return read_cntpct_el0() + read_cntfrq_el0() * ms / 1000U;
}

/* Waits until a bit of the status is there; false after a second, or when the controller tells of an error. */
static bool came(uint32_t wanted)
{
	uint64_t end = ticks(1000U);

	while (read_cntpct_el0() < end) {
		uint32_t status = mmio_read_32(CARD_BASE + STATUS);

		if ((status & FAILED) != 0U)
			return false;
		if ((status & wanted) != 0U) {
			mmio_write_32(CARD_BASE + STATUS, wanted);
			return true;
		}
	}
	return false;
}

static bool ask(unsigned int number, uint32_t argument, unsigned int answer)
{
	while ((mmio_read_32(CARD_BASE + STATE) & BUSY) != 0U)
		;
	mmio_write_32(CARD_BASE + STATUS, ~0U);
	mmio_write_32(CARD_BASE + ARGUMENT, argument);
	mmio_write_16(CARD_BASE + COMMAND, (uint16_t)(number << 8 | answer));
	return came(DONE_COMMAND);
}

static bool find_controller(void)
{
	for (uintptr_t device = 0U; device < PCI_DEVICES; device++) {
		uintptr_t there = CONFIG_SPACE + (device << 15);

		if (mmio_read_32(there + PCI_CLASS) >> 16 != SD_CONTROLLER)
			continue;
		mmio_write_32(there + PCI_BAR0, CARD_BASE);
		mmio_write_16(there + PCI_COMMAND, PCI_MEMORY_AND_MASTER);
		return true;
	}
	return false;
}

/* Gives the card a clock of no more than so many kHz. */
static void set_clock(unsigned int khz)
{
	unsigned int base = (mmio_read_32(CARD_BASE + CAPABILITIES) >> 8 & 0xffU) * 1000U, half = 0U;

	while (base / (half != 0U ? half * 2U : 1U) > khz)
		half = half != 0U ? half * 2U : 1U;
	mmio_write_16(CARD_BASE + CLOCK, 0U);
	mmio_write_16(CARD_BASE + CLOCK, (uint16_t)(half << 8 | 1U));
	while ((mmio_read_16(CARD_BASE + CLOCK) & 2U) == 0U)
		;
	mmio_write_16(CARD_BASE + CLOCK, (uint16_t)(half << 8 | 5U));
}

/* Waits until the card has found its voltage. */
static bool powered_up(void)
{
	uint64_t end = ticks(1000U);

	while (read_cntpct_el0() < end) {
		uint32_t conditions;

		if (!ask(55U, 0U, ANSWER) || !ask(41U, 0x40ff8000U, ANSWER))
			return false;
		conditions = mmio_read_32(CARD_BASE + RESPONSE);
		if (conditions >> 31 != 0U) {
			by_sectors = (conditions >> 30 & 1U) != 0U;
			return true;
		}
	}
	return false;
}

static bool start_card(void)
{
	if (!find_controller())
		return false;
	mmio_write_8(CARD_BASE + RESET, 1U);
	while (mmio_read_8(CARD_BASE + RESET) != 0U)
		;
	mmio_write_8(CARD_BASE + POWER, 0x0fU);
	mmio_write_8(CARD_BASE + TIMEOUT, 0x0eU);
	mmio_write_32(CARD_BASE + STATUS_ENABLE, ~0U);
	set_clock(400U);
	if (!ask(0U, 0U, NO_ANSWER) || !ask(8U, 0x1aaU, ANSWER) || !powered_up())
		return false;
	if (!ask(2U, 0U, LONG_ANSWER) || !ask(3U, 0U, ANSWER))
		return false;
	relative_address = mmio_read_32(CARD_BASE + RESPONSE) & 0xffff0000U;
	set_clock(25000U);
	if (!ask(7U, relative_address, ANSWER) || !ask(55U, relative_address, ANSWER))
		return false;
	if (!ask(6U, 2U, ANSWER) || !ask(16U, SECTOR_BYTES, ANSWER))
		return false;
	mmio_write_8(CARD_BASE + HOST_CONTROL, 0x12U); /* four lines, DMA by tables of 32-bit addresses */
	return true;
}

/* Reads sectors in one go; the controller writes them to memory by itself. */
static bool read_card(uint32_t sector, uint32_t sectors, uintptr_t to)
{
	struct piece *table = (struct piece *)TABLE_ADDRESS;
	uint32_t left = sectors * SECTOR_BYTES, n = 0U;

	if (sectors == 0U || sectors > MOST_SECTORS)
		return false;
	for (uintptr_t at = to; left != 0U; n++) {
		uint32_t bytes = left < PIECE_BYTES ? left : PIECE_BYTES;

		left -= bytes;
		table[n] = (struct piece){left != 0U ? 0x21U : 0x23U, (uint16_t)bytes, (uint32_t)at};
		at += bytes;
	}
	flush_dcache_range(TABLE_ADDRESS, n * sizeof(*table));
	flush_dcache_range(to, (size_t)sectors * SECTOR_BYTES);
	mmio_write_32(CARD_BASE + TABLE, TABLE_ADDRESS);
	mmio_write_16(CARD_BASE + BLOCK_SIZE, SECTOR_BYTES);
	mmio_write_16(CARD_BASE + BLOCKS, (uint16_t)sectors);
	mmio_write_16(CARD_BASE + MODE, MODE_READ);
	if (!ask(18U, by_sectors ? sector : sector * SECTOR_BYTES, ANSWER | CHECKED | WITH_DATA) || !came(DONE_DATA))
		return false;
	inv_dcache_range(to, (size_t)sectors * SECTOR_BYTES);
	return true;
}

/* ---- a kernel packed by lz4 ---- */

#define LZ4_MAGIC 0x184d2204U
#define HEAD_BYTES 7U
#define CONTENT_SIZE (1U << 3)
#define BLOCK_CHECKSUM (1U << 4)
#define AS_IT_IS (1U << 31)
#define WORD 8U

/* Eight bytes at any address: the compiler is told not to. */
static inline void copy_word(uint8_t *to, const uint8_t *from)
{
	uint64_t word;

	__asm__ volatile("ldr %0, [%1]" : "=r"(word) : "r"(from) : "memory");
	__asm__ volatile("str %0, [%1]" : : "r"(word), "r"(to) : "memory");
}

/* Copies whole words, so that up to 7 bytes behind the end are written as well. */
static void copy_far(uint8_t *to, const uint8_t *from, size_t bytes)
{
	for (uint8_t *end = to + bytes; to < end; to += WORD, from += WORD)
		copy_word(to, from);
}

static size_t longer(const uint8_t **in, size_t length)
{
	uint8_t more;

	if (length != 15U)
		return length;
	do {
		more = *(*in)++;
		length += more;
	} while (more == 255U);
	return length;
}

/* Unpacks a block; returns the first byte behind what came out, NULL where it is damaged. */
static uint8_t *unpack_block(const uint8_t *in, const uint8_t *in_end, uint8_t *start, uint8_t *out,
			     const uint8_t *out_end)
{
	while (in < in_end) {
		unsigned int token = *in++;
		size_t bytes = longer(&in, token >> 4), back;

		if (bytes > (size_t)(in_end - in) || bytes > (size_t)(out_end - out))
			return NULL;
		copy_far(out, in, bytes);
		out += bytes;
		in += bytes;
		if (in == in_end)
			return out;
		back = in[0] | (size_t)in[1] << 8;
		in += 2;
		bytes = longer(&in, token & 15U) + 4U;
		if (back == 0U || back > (size_t)(out - start) || bytes > (size_t)(out_end - out))
			return NULL;
		if (back >= WORD) {
			copy_far(out, out - back, bytes);
			out += bytes;
		} else {
			for (; bytes != 0U; bytes--, out++)
				*out = out[-(ptrdiff_t)back];
		}
	}
	return NULL;
}

static uint32_t le32(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Unpacks a frame; returns how many bytes came out, 0 where it is none or damaged. */
static size_t unpack(const uint8_t *in, size_t size, uint8_t *start)
{
	const uint8_t *end = in + size, *room = start + LINUX_ROOM - WORD;
	uint8_t *out = start;
	unsigned int flags;

	if (size < HEAD_BYTES || le32(in) != LZ4_MAGIC)
		return 0U;
	flags = in[4];
	in += HEAD_BYTES + ((flags & CONTENT_SIZE) != 0U ? 8 : 0);
	while (end - in >= 4) {
		uint32_t bytes = le32(in);
		bool plain = (bytes & AS_IT_IS) != 0U;

		in += 4;
		bytes &= ~AS_IT_IS;
		if (bytes == 0U)
			return (size_t)(out - start);
		if (bytes > (size_t)(end - in) || (plain && bytes > (size_t)(room - out)))
			return 0U;
		if (plain) {
			copy_far(out, in, bytes);
			out += bytes;
		} else {
			out = unpack_block(in, in + bytes, start, out, room);
		}
		if (out == NULL)
			return 0U;
		in += bytes + ((flags & BLOCK_CHECKSUM) != 0U ? 4U : 0U);
	}
	return 0U;
}

/* ---- the kernel ---- */

#define UIMAGE_MAGIC 0x27051956U
#define HEADER_BYTES 64U
#define SIZE_AT 12
#define COMPRESSION_AT 31
#define PLAIN 0U
#define LZ4 5U

static uint32_t be32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static bool load_kernel(void)
{
	const uint8_t *header = (const uint8_t *)PACKED_ADDRESS;
	uintptr_t to;
	uint32_t bytes, kind;

	if (!start_card() || !read_card(LINUX_SECTOR, 1U, PACKED_ADDRESS) || be32(header) != UIMAGE_MAGIC)
		return false;
	bytes = be32(header + SIZE_AT);
	kind = header[COMPRESSION_AT];
	if (bytes > LINUX_ROOM || (kind != PLAIN && kind != LZ4))
		return false;
	/* What is not packed comes straight to its place, with the header before it. */
	to = (kind == PLAIN ? LINUX_ADDRESS : PACKED_ADDRESS) - HEADER_BYTES;
	if (!read_card(LINUX_SECTOR, (bytes + HEADER_BYTES + SECTOR_BYTES - 1U) / SECTOR_BYTES, to))
		return false;
	if (kind == LZ4) {
		write_sctlr_el1(read_sctlr_el1() & ~SCTLR_A_BIT); /* words at any address */
		isb();
		bytes = (uint32_t)unpack((const uint8_t *)PACKED_ADDRESS, bytes, (uint8_t *)LINUX_ADDRESS);
		write_sctlr_el1(read_sctlr_el1() | SCTLR_A_BIT);
		isb();
		flush_dcache_range(LINUX_ADDRESS, bytes);
	}
	return bytes != 0U;
}

/* ---- its device tree ---- */

#ifdef FRAMEBUFFER_ADDRESS
static int add_framebuffer(void *fdt, int chosen)
{
	const fdt64_t place[] = {cpu_to_fdt64(FRAMEBUFFER_ADDRESS), cpu_to_fdt64(FRAMEBUFFER_BYTES)};
	int err = fdt_setprop_u32(fdt, chosen, "#address-cells", 2), node;

	err |= fdt_setprop_u32(fdt, chosen, "#size-cells", 2) | fdt_setprop(fdt, chosen, "ranges", NULL, 0);
	node = fdt_add_subnode(fdt, chosen, "framebuffer");
	err |= fdt_setprop_string(fdt, node, "compatible", "simple-framebuffer");
	err |= fdt_setprop(fdt, node, "reg", place, sizeof(place));
	err |= fdt_setprop_u32(fdt, node, "width", FRAMEBUFFER_WIDTH);
	err |= fdt_setprop_u32(fdt, node, "height", FRAMEBUFFER_HEIGHT);
	err |= fdt_setprop_u32(fdt, node, "stride", FRAMEBUFFER_STRIDE);
	err |= fdt_setprop_string(fdt, node, "format", FRAMEBUFFER_FORMAT);
	node = fdt_add_subnode(fdt, 0, "reserved-memory");
	err |= fdt_setprop_u32(fdt, node, "#address-cells", 2) | fdt_setprop_u32(fdt, node, "#size-cells", 2);
	err |= fdt_setprop(fdt, node, "ranges", NULL, 0);
	node = fdt_add_subnode(fdt, node, "framebuffer");
	err |= fdt_setprop(fdt, node, "reg", place, sizeof(place)) | fdt_setprop(fdt, node, "no-map", NULL, 0);
	return err;
}
#endif

static bool tell_linux(void)
{
	void *fdt = (void *)(uintptr_t)ARM_PRELOADED_DTB_BASE;
	int err = fdt_open_into(fdt, fdt, PLAT_QEMU_DT_MAX_SIZE), chosen = fdt_path_offset(fdt, "/chosen");

	if (err != 0)
		return false;
	if (chosen < 0)
		chosen = fdt_add_subnode(fdt, 0, "chosen");
	err = fdt_setprop_string(fdt, chosen, "bootargs", BOOTARGS);
#ifdef FRAMEBUFFER_ADDRESS
	err |= add_framebuffer(fdt, chosen);
#endif
	err |= fdt_pack(fdt);
	flush_dcache_range((uintptr_t)fdt, fdt_totalsize(fdt));
	return err == 0;
}

/* ---- what Trusted Firmware-A calls ---- */

#define UART_FLAGS 0x18
#define UART_EMPTY (1U << 4)

static bool wants_uboot(void)
{
	return (mmio_read_32(PLAT_QEMU_BOOT_UART_BASE + UART_FLAGS) & UART_EMPTY) == 0U &&
	       (mmio_read_32(PLAT_QEMU_BOOT_UART_BASE) & 0xffU) == 'c';
}

int bl2_plat_handle_pre_image_load(unsigned int image_id)
{
	bl_mem_params_node_t *image;

	if (image_id != BL33_IMAGE_ID || wants_uboot())
		return 0;
	if (!load_kernel() || !tell_linux()) {
		NOTICE("BL2: no kernel on the card, starting U-Boot\n");
		return 0;
	}
	image = get_bl_mem_params_node(image_id);
	image->image_info.h.attr |= IMAGE_ATTRIB_SKIP_LOADING;
	image->ep_info.pc = LINUX_ADDRESS;
	INFO("BL2: Linux from the card\n");
	return 0;
}

void __real_setup_page_tables(const mmap_region_t *bl_regions, const mmap_region_t *plat_regions);
void __wrap_setup_page_tables(const mmap_region_t *bl_regions, const mmap_region_t *plat_regions);

void __wrap_setup_page_tables(const mmap_region_t *bl_regions, const mmap_region_t *plat_regions)
{
	mmap_add_region(CARD_BASE, CARD_BASE, PAGE_SIZE, MT_DEVICE | MT_RW | MT_SECURE);
	mmap_add_region(CONFIG_SPACE, CONFIG_SPACE, PCI_DEVICES << 15, MT_DEVICE | MT_RW | MT_SECURE);
	__real_setup_page_tables(bl_regions, plat_regions);
}
