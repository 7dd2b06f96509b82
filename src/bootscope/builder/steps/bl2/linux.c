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
 * Source: Linux Documentation/arch/arm64/booting.rst.
 */
#include <stdbool.h>

#include <arch_helpers.h>
#include <common/debug.h>
#include <common/desc_image_load.h>
#include <lib/mmio.h>
#include <lib/xlat_tables/xlat_tables_v2.h>
#include <libfdt.h>
#include <plat/common/platform.h>
#include <platform_def.h>

#include "linux.h"
#include "lz4.h"
#include "sd_card.h"

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

	if (!sd_card_start() || !sd_card_read(LINUX_SECTOR, 1U, PACKED_ADDRESS) || be32(header) != UIMAGE_MAGIC)
		return false;
	bytes = be32(header + SIZE_AT);
	kind = header[COMPRESSION_AT];
	if (bytes > LINUX_ROOM || (kind != PLAIN && kind != LZ4))
		return false;
	/* What is not packed comes straight to its place, with the header before it. */
	to = (kind == PLAIN ? LINUX_ADDRESS : PACKED_ADDRESS) - HEADER_BYTES;
	if (!sd_card_read(LINUX_SECTOR, (bytes + HEADER_BYTES + SD_SECTOR_BYTES - 1U) / SD_SECTOR_BYTES, to))
		return false;
	if (kind == LZ4) {
		write_sctlr_el1(read_sctlr_el1() & ~SCTLR_A_BIT); /* words at any address */
		isb();
		bytes = (uint32_t)lz4_unpack((const uint8_t *)PACKED_ADDRESS, bytes, (uint8_t *)LINUX_ADDRESS,
					     LINUX_ROOM);
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
	mmap_add_region(CONFIG_SPACE, CONFIG_SPACE, SD_PCI_DEVICES << 15, MT_DEVICE | MT_RW | MT_SECURE);
	__real_setup_page_tables(bl_regions, plat_regions);
}
