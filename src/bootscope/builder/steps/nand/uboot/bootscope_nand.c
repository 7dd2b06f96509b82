// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A raw NAND chip whose array is memory, for U-Boot and its SPL.
 *
 * The array, data and spare bytes of each page one behind the other, is kept inverted, so that what is erased
 * is zeros. The chip answers the commands by which a large page part is read; for all others it is write
 * protected. What they take on a real one is spent here: the time that the array is busy, and a bus cycle for
 * each command, address and byte. What the copying takes comes on top, as it does where the CPU fetches the
 * bytes.
 */
#include <config.h>
#include <nand.h>
#include <spl.h>
#include <linux/delay.h>
#include <linux/mtd/rawnand.h>

#define RAW_PAGE_BYTES (CONFIG_SYS_NAND_PAGE_SIZE + CONFIG_SYS_NAND_OOBSIZE)
#define BLOCK_PAGES (CONFIG_SYS_NAND_BLOCK_SIZE / CONFIG_SYS_NAND_PAGE_SIZE)
#define COLUMN_CYCLES 2
#define CYCLES 5
#define ID_BYTES 5

static struct {
	const u8 *page; /* NULL: none of the chip */
	u32 column, owed_ns;
	u8 command, cycles, address[CYCLES], id_at;
} chip;

static void spend(u32 ns)
{
	ns += chip.owed_ns;
	chip.owed_ns = ns % 1000;
	if (ns >= 1000)
		udelay(ns / 1000);
}

static void open_page(void)
{
	u32 row = chip.address[2] | chip.address[3] << 8 | chip.address[4] << 16;

	chip.page = NULL;
	if (row < CONFIG_NAND_BOOTSCOPE_BLOCKS * BLOCK_PAGES)
		chip.page = (const u8 *)CFG_SYS_NAND_BASE + row * RAW_PAGE_BYTES;
	spend(CONFIG_NAND_BOOTSCOPE_READ_NS);
}

static void do_command(u8 command)
{
	switch (command) {
	case NAND_CMD_READSTART:
		open_page();
		fallthrough;
	case NAND_CMD_RNDOUTSTART:
		chip.column = chip.address[0] | chip.address[1] << 8;
		break;
	case NAND_CMD_READ0:
		memset(chip.address, 0, CYCLES);
		break;
	}
	chip.command = command;
	chip.cycles = 0;
	chip.id_at = 0;
}

static void cmd_ctrl(struct mtd_info *mtd, int value, unsigned int ctrl)
{
	if (value == NAND_CMD_NONE)
		return;
	spend(CONFIG_NAND_BOOTSCOPE_CYCLE_NS);
	if (ctrl & NAND_CLE)
		do_command(value);
	else if (chip.cycles < CYCLES)
		chip.address[chip.cycles++] = value;
}

/* Its busy time was spent when it was told to be busy. */
static int dev_ready(struct mtd_info *mtd)
{
	return 1;
}

static u8 of_page(void)
{
	u32 at = chip.column++;

	return chip.page && at < RAW_PAGE_BYTES ? ~chip.page[at] : 0;
}

static u8 of_identity(void)
{
	/* Nothing at the addresses of ONFI and JEDEC. */
	if (chip.address[0] || chip.id_at >= ID_BYTES)
		return 0;
	return CONFIG_NAND_BOOTSCOPE_IDENTITY >> 8 * (ID_BYTES - 1 - chip.id_at++);
}

static u8 next_byte(void)
{
	switch (chip.command) {
	case NAND_CMD_READSTART:
	case NAND_CMD_RNDOUTSTART:
		return of_page();
	case NAND_CMD_READID:
		return of_identity();
	}
	/* Ready, without NAND_STATUS_WP, which says that it may be written. */
	return NAND_STATUS_READY;
}

static u8 read_byte(struct mtd_info *mtd)
{
	spend(CONFIG_NAND_BOOTSCOPE_CYCLE_NS);
	return next_byte();
}

static void read_buf(struct mtd_info *mtd, u8 *to, int bytes)
{
	const u32 *from;
	bool words = chip.page && chip.column + bytes <= RAW_PAGE_BYTES &&
		     !(((ulong)to | chip.column | bytes) % sizeof(u32)) &&
		     (chip.command == NAND_CMD_READSTART || chip.command == NAND_CMD_RNDOUTSTART);

	spend(bytes * CONFIG_NAND_BOOTSCOPE_CYCLE_NS);
	if (!words) {
		while (bytes-- > 0)
			*to++ = next_byte();
		return;
	}
	from = (const u32 *)(chip.page + chip.column);
	chip.column += bytes;
	for (; bytes; bytes -= sizeof(u32), to += sizeof(u32))
		*(u32 *)to = ~*from++;
}

int board_nand_init(struct nand_chip *nand)
{
	nand->cmd_ctrl = cmd_ctrl;
	nand->dev_ready = dev_ready;
	nand->read_byte = read_byte;
	nand->read_buf = read_buf;
	nand->ecc.mode = NAND_ECC_SOFT;
	/* The SPL does not ask the chip. */
	nand_to_mtd(nand)->writesize = CONFIG_SYS_NAND_PAGE_SIZE;
	return 0;
}

#ifdef CONFIG_XPL_BUILD
/* The boot ROM has read the SPL from the card, and tells it so; all else is in the chip. */
void board_boot_order(u32 *order)
{
	order[0] = BOOT_DEVICE_NAND;
}
#endif
