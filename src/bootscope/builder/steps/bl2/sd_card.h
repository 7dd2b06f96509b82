/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An SD card behind a standard controller on PCI, at the addresses that linux.h gives both. A header for the
 * same reason as lz4.h.
 *
 * Sources: SD Host Controller Simplified Specification 3.00; SD Physical Layer Simplified Specification 3.01.
 */
#ifndef SD_CARD_H
#define SD_CARD_H

#include <stdbool.h>
#include <stdint.h>

#include <arch_helpers.h>
#include <lib/mmio.h>

#include "linux.h"

#define SD_SECTOR_BYTES 512U
#define SD_PCI_DEVICES 32U /* that are asked whether they are the controller */

#define SD_BLOCK_SIZE 0x04
#define SD_BLOCKS 0x06
#define SD_ARGUMENT 0x08
#define SD_MODE 0x0c
#define SD_COMMAND 0x0e
#define SD_RESPONSE 0x10
#define SD_STATE 0x24
#define SD_HOST_CONTROL 0x28
#define SD_POWER 0x29
#define SD_CLOCK 0x2c
#define SD_TIMEOUT 0x2e
#define SD_RESET 0x2f
#define SD_STATUS 0x30
#define SD_STATUS_ENABLE 0x34
#define SD_CAPABILITIES 0x40
#define SD_TABLE 0x58

#define SD_DONE_COMMAND (1U << 0)
#define SD_DONE_DATA (1U << 1)
#define SD_FAILED (1U << 15)
#define SD_BUSY (3U << 0)

#define SD_NO_ANSWER 0U
#define SD_LONG_ANSWER 1U
#define SD_ANSWER 2U
#define SD_CHECKED (3U << 3)
#define SD_WITH_DATA (1U << 5)

#define SD_PIECE_BYTES 0x8000U
#define SD_MOST_SECTORS 0xffffU
#define SD_MODE_READ (0x01U | 0x02U | 0x04U | 0x10U | 0x20U) /* DMA, counted, CMD12 by itself, read, several */

#define SD_PCI_COMMAND 0x04
#define SD_PCI_CLASS 0x08
#define SD_PCI_BAR0 0x10
#define SD_PCI_MEMORY_AND_MASTER 0x06
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
		uint32_t status = mmio_read_32(CARD_BASE + SD_STATUS);

		if ((status & SD_FAILED) != 0U)
			return false;
		if ((status & wanted) != 0U) {
			mmio_write_32(CARD_BASE + SD_STATUS, wanted);
			return true;
		}
	}
	return false;
}

static bool ask(unsigned int number, uint32_t argument, unsigned int answer)
{
	while ((mmio_read_32(CARD_BASE + SD_STATE) & SD_BUSY) != 0U)
		;
	mmio_write_32(CARD_BASE + SD_STATUS, ~0U);
	mmio_write_32(CARD_BASE + SD_ARGUMENT, argument);
	mmio_write_16(CARD_BASE + SD_COMMAND, (uint16_t)(number << 8 | answer));
	return came(SD_DONE_COMMAND);
}

static bool find_controller(void)
{
	for (uintptr_t device = 0U; device < SD_PCI_DEVICES; device++) {
		uintptr_t there = CONFIG_SPACE + (device << 15);

		if (mmio_read_32(there + SD_PCI_CLASS) >> 16 != SD_CONTROLLER)
			continue;
		mmio_write_32(there + SD_PCI_BAR0, CARD_BASE);
		mmio_write_16(there + SD_PCI_COMMAND, SD_PCI_MEMORY_AND_MASTER);
		return true;
	}
	return false;
}

/* Gives the card a clock of no more than so many kHz. */
static void set_clock(unsigned int khz)
{
	unsigned int base = (mmio_read_32(CARD_BASE + SD_CAPABILITIES) >> 8 & 0xffU) * 1000U, half = 0U;

	while (base / (half != 0U ? half * 2U : 1U) > khz)
		half = half != 0U ? half * 2U : 1U;
	mmio_write_16(CARD_BASE + SD_CLOCK, 0U);
	mmio_write_16(CARD_BASE + SD_CLOCK, (uint16_t)(half << 8 | 1U));
	while ((mmio_read_16(CARD_BASE + SD_CLOCK) & 2U) == 0U)
		;
	mmio_write_16(CARD_BASE + SD_CLOCK, (uint16_t)(half << 8 | 5U));
}

/* Waits until the card has found its voltage. */
static bool powered_up(void)
{
	uint64_t end = ticks(1000U);

	while (read_cntpct_el0() < end) {
		uint32_t conditions;

		if (!ask(55U, 0U, SD_ANSWER) || !ask(41U, 0x40ff8000U, SD_ANSWER))
			return false;
		conditions = mmio_read_32(CARD_BASE + SD_RESPONSE);
		if (conditions >> 31 != 0U) {
			by_sectors = (conditions >> 30 & 1U) != 0U;
			return true;
		}
	}
	return false;
}

/* Finds the controller and makes the card ready; false where there is none. */
static bool sd_card_start(void)
{
	if (!find_controller())
		return false;
	mmio_write_8(CARD_BASE + SD_RESET, 1U);
	while (mmio_read_8(CARD_BASE + SD_RESET) != 0U)
		;
	mmio_write_8(CARD_BASE + SD_POWER, 0x0fU);
	mmio_write_8(CARD_BASE + SD_TIMEOUT, 0x0eU);
	mmio_write_32(CARD_BASE + SD_STATUS_ENABLE, ~0U);
	set_clock(400U);
	if (!ask(0U, 0U, SD_NO_ANSWER) || !ask(8U, 0x1aaU, SD_ANSWER) || !powered_up())
		return false;
	if (!ask(2U, 0U, SD_LONG_ANSWER) || !ask(3U, 0U, SD_ANSWER))
		return false;
	relative_address = mmio_read_32(CARD_BASE + SD_RESPONSE) & 0xffff0000U;
	set_clock(25000U);
	if (!ask(7U, relative_address, SD_ANSWER) || !ask(55U, relative_address, SD_ANSWER))
		return false;
	if (!ask(6U, 2U, SD_ANSWER) || !ask(16U, SD_SECTOR_BYTES, SD_ANSWER))
		return false;
	mmio_write_8(CARD_BASE + SD_HOST_CONTROL, 0x12U); /* four lines, DMA by tables of 32-bit addresses */
	return true;
}

/* Reads sectors in one go; the controller writes them to memory by itself. */
static bool sd_card_read(uint32_t sector, uint32_t sectors, uintptr_t to)
{
	struct piece *table = (struct piece *)TABLE_ADDRESS;
	uint32_t left = sectors * SD_SECTOR_BYTES, n = 0U;

	if (sectors == 0U || sectors > SD_MOST_SECTORS)
		return false;
	for (uintptr_t at = to; left != 0U; n++) {
		uint32_t bytes = left < SD_PIECE_BYTES ? left : SD_PIECE_BYTES;

		left -= bytes;
		table[n] = (struct piece){left != 0U ? 0x21U : 0x23U, (uint16_t)bytes, (uint32_t)at};
		at += bytes;
	}
	flush_dcache_range(TABLE_ADDRESS, n * sizeof(*table));
	flush_dcache_range(to, (size_t)sectors * SD_SECTOR_BYTES);
	mmio_write_32(CARD_BASE + SD_TABLE, TABLE_ADDRESS);
	mmio_write_16(CARD_BASE + SD_BLOCK_SIZE, SD_SECTOR_BYTES);
	mmio_write_16(CARD_BASE + SD_BLOCKS, (uint16_t)sectors);
	mmio_write_16(CARD_BASE + SD_MODE, SD_MODE_READ);
	if (!ask(18U, by_sectors ? sector : sector * SD_SECTOR_BYTES, SD_ANSWER | SD_CHECKED | SD_WITH_DATA) ||
	    !came(SD_DONE_DATA))
		return false;
	inv_dcache_range(to, (size_t)sectors * SD_SECTOR_BYTES);
	return true;
}

#endif
