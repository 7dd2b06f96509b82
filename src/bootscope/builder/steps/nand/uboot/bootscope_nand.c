// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A raw NAND chip whose array is memory, for U-Boot and its SPL on Allwinner SoCs.
 *
 * The array, data and spare bytes of each page one behind the other, is kept inverted, so that what is erased
 * is zeros. The chip answers the commands by which a large page part is read; for all others it is write
 * protected. What they take on a real one is spent here: the time that the array is busy, and a bus cycle for
 * each command, address and byte. Copying and inverting count as part of these times.
 *
 * The SoC's timer is read directly: udelay() of these boards takes a reading that is the same as the one
 * before for a wrap of the timer and waits a tick more for it. Where a reading takes less than a tick of the
 * timer, as on an emulated board, it waits some times too long.
 */
#include <config.h>
#include <nand.h>
#include <spl.h>
#include <asm/arch/cpu.h>
#include <asm/arch/timer.h>
#include <asm/io.h>
#include <linux/mtd/rawnand.h>

#define RAW_PAGE_BYTES (CONFIG_SYS_NAND_PAGE_SIZE + CONFIG_SYS_NAND_OOBSIZE)
#define BLOCK_PAGES (CONFIG_SYS_NAND_BLOCK_SIZE / CONFIG_SYS_NAND_PAGE_SIZE)
#define CYCLES 5
#define ID_BYTES 5

/* A tick of 24 MHz is 125 / 3 ns: times are counted in thirds of a ns. */
#define TICK 125

static struct {
	const u8 *page; /* NULL: none of the chip */
	u32 column, owed; /* less than a tick that is still to be spent */
	u8 command, cycles, address[CYCLES], id_at;
} chip;

static u32 ticks(void)
{
	/* It counts down. */
	return ~readl(&((struct sunxi_timer_reg *)SUNXI_TIMER_BASE)->timer[0].val);
}

static void spend_from(u32 begin, u32 ns)
{
	u32 whole = (3 * ns + chip.owed) / TICK;

	chip.owed = (3 * ns + chip.owed) % TICK;
	while (ticks() - begin < whole)
		;
}

static void spend(u32 ns)
{
	spend_from(ticks(), ns);
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

static bool gives_page(void)
{
	return chip.command == NAND_CMD_READSTART || chip.command == NAND_CMD_RNDOUTSTART;
}

static u8 next_byte(void)
{
	if (gives_page())
		return of_page();
	if (chip.command == NAND_CMD_READID)
		return of_identity();
	/* Ready, without NAND_STATUS_WP, which says that it may be written. */
	return NAND_STATUS_READY;
}

static u8 read_byte(struct mtd_info *mtd)
{
	spend(CONFIG_NAND_BOOTSCOPE_CYCLE_NS);
	return next_byte();
}

static void copy_words(u32 *to, int bytes)
{
	const u32 *from = (const u32 *)(chip.page + chip.column);

	chip.column += bytes;
	for (; bytes; bytes -= sizeof(u32))
		*to++ = ~*from++;
}

static void read_buf(struct mtd_info *mtd, u8 *to, int bytes)
{
	u32 begin = ticks(), ns = bytes * CONFIG_NAND_BOOTSCOPE_CYCLE_NS;
	bool whole = !(((ulong)to | chip.column | bytes) % sizeof(u32));

	if (gives_page() && chip.page && whole && chip.column + bytes <= RAW_PAGE_BYTES)
		copy_words((u32 *)to, bytes);
	else
		while (bytes-- > 0)
			*to++ = next_byte();
	spend_from(begin, ns);
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
