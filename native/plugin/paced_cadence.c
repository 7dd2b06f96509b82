// SPDX-License-Identifier: GPL-2.0-or-later
#include "paced_kinds.h"

#define PER_S 1000000000

enum reg { MODE = 0x04, GENERATOR = 0x18, STATUS = 0x2c, DATA = 0x30, DIVIDER = 0x34 };

#define BY_EIGHT 1 /* of MODE */
#define LOOPBACK_BITS (3 << 8)
#define LOOPBACK (2 << 8)
#define EMPTY (1 << 3) /* of STATUS */
#define FULL (1 << 4)
#define LEAST 4 /* of DIVIDER */

static struct {
	const struct bs_paced *watch;
	uint64_t mode, generator, divider;
} port;

/* A generator of 0 is off; a divider below 4 is not one. */
static void take_rate(void)
{
	uint64_t divisor = port.generator * (port.divider + 1) * (port.mode & BY_EIGHT ? 8 : 1);

	if (port.generator && port.divider >= LEAST)
		bs_port_takes((int64_t)(BS_PORT_BITS * divisor * PER_S / port.watch->clock_hz));
}

static void stored(uint64_t offset, uint64_t value)
{
	if (offset == DATA && (port.mode & LOOPBACK_BITS) != LOOPBACK)
		bs_port_put();
	else if (offset == MODE)
		port.mode = value;
	else if (offset == GENERATOR)
		port.generator = value & 0xffff;
	else if (offset == DIVIDER)
		port.divider = value & 0xff;
	if (offset == MODE || offset == GENERATOR || offset == DIVIDER)
		take_rate();
}

static int64_t full_until(void)
{
	return bs_port_fewer_ns(1);
}

static size_t flags(uint64_t offset, struct bs_port_flag found[BS_MAX_FLAGS])
{
	if (offset != STATUS)
		return 0;
	found[0] = (struct bs_port_flag){EMPTY, false, bs_port_fewer_ns(1)};
	found[1] = (struct bs_port_flag){FULL, true, bs_port_room_ns()};
	return 2;
}

bool bs_paced_cadence_start(const struct bs_paced *p)
{
	static const struct bs_port_kind kind = {stored, flags, full_until, NULL};

	port.watch = p;
	return bs_paced_port_start(p, &kind);
}
