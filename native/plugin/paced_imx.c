// SPDX-License-Identifier: GPL-2.0-or-later
#include "paced_kinds.h"

#define SAMPLES 16 /* of a bit */
#define PER_S 1000000000

enum reg {
	DATA = 0x40,
	FIFO = 0x90,
	STATUS_1 = 0x94,
	STATUS_2 = 0x98,
	NUMERATOR = 0xa4,
	DENOMINATOR = 0xa8,
	TEST = 0xb4,
};

#define READY (1 << 13)	 /* of STATUS_1: fewer bytes than the level in FIFO wait */
#define EMPTY (1 << 14)	 /* of STATUS_2 */
#define ALL_SENT (1 << 3)
#define IS_EMPTY (1 << 6) /* of TEST */
#define IS_FULL (1 << 4)
#define LOOPBACK (1 << 12)

static const uint64_t dividers[8] = {6, 5, 4, 3, 2, 1, 7, 7}; /* of the clock, by a field of FIFO */

static struct {
	const struct bs_paced *watch;
	uint64_t fifo, numerator, test;
} port = {.fifo = 0x801};

static uint32_t level(void)
{
	uint32_t bytes = port.fifo >> 10 & 0x3f;

	return bytes ? bytes : 1;
}

/* Both numbers take effect with this store. */
static void take_ratio(uint64_t denominator)
{
	uint64_t divided_by = dividers[port.fifo >> 7 & 7];

	bs_port_takes((int64_t)((__int128)BS_PORT_BITS * SAMPLES * divided_by * PER_S * (denominator + 1) /
				((__int128)port.watch->clock_hz * (port.numerator + 1))));
}

static void stored(uint64_t offset, uint64_t value)
{
	if (offset == TEST)
		port.test = value;
	else if (offset == FIFO)
		port.fifo = value;
	else if (offset == NUMERATOR)
		port.numerator = value & 0xffff;
	else if (offset == DENOMINATOR)
		take_ratio(value & 0xffff);
	else if (offset == DATA && !(port.test & LOOPBACK))
		bs_port_put();
}

static int64_t full_until(void)
{
	return bs_port_fewer_ns(level());
}

static size_t flags(uint64_t offset, struct bs_port_flag found[BS_MAX_FLAGS])
{
	if (offset == STATUS_1) {
		found[0] = (struct bs_port_flag){READY, false, bs_port_fewer_ns(level())};
		return 1;
	}
	if (offset == STATUS_2) {
		found[0] = (struct bs_port_flag){EMPTY, false, bs_port_fewer_ns(1)};
		found[1] = (struct bs_port_flag){ALL_SENT, false, bs_port_sent_ns()};
		return 2;
	}
	if (offset == TEST) {
		found[0] = (struct bs_port_flag){IS_FULL, true, bs_port_room_ns()};
		found[1] = (struct bs_port_flag){IS_EMPTY, false, bs_port_sent_ns()};
		return 2;
	}
	return 0;
}

bool bs_paced_imx_start(const struct bs_paced *p)
{
	static const struct bs_port_kind kind = {stored, flags, full_until, NULL};

	port.watch = p;
	return bs_paced_port_start(p, &kind);
}
