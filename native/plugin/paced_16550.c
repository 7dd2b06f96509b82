// SPDX-License-Identifier: GPL-2.0-or-later
#include "paced_kinds.h"

#define SAMPLES 16 /* of a bit */
#define PER_S 1000000000

enum reg { DATA = 0, INTERRUPT = 1, FIFO = 2, LINE = 3, MODEM = 4, STATUS = 5 };

#define LATCH 0x80	  /* of LINE: the first two registers hold the divisor */
#define LOOPBACK 0x10	  /* of MODEM */
#define ROOM 0x20	  /* of STATUS: the FIFO is empty */
#define ALL_SENT 0x40	  /* ... and the line too */
#define NO_INTERRUPT 0x01 /* of FIFO, when read */
#define FIFO_ON 0x01	  /* of FIFO, when stored */
#define SAYS_FIFO 0xc0

static struct {
	const struct bs_paced *watch;
	uint8_t control, modem, fifo, divisor[2];
} port;

static void take_divisor(size_t half, uint64_t value)
{
	port.divisor[half] = (uint8_t)value;
	int64_t divisor = port.divisor[0] | port.divisor[1] << 8;
	if (divisor)
		bs_port_takes(BS_PORT_BITS * SAMPLES * divisor * PER_S / (int64_t)port.watch->clock_hz);
}

static void stored(uint64_t offset, uint64_t value)
{
	uint64_t reg = offset / port.watch->register_bytes;

	if (reg == LINE)
		port.control = (uint8_t)value;
	else if (reg == MODEM)
		port.modem = (uint8_t)value;
	else if (reg == FIFO)
		port.fifo = (uint8_t)value;
	else if (reg <= INTERRUPT && port.control & LATCH)
		take_divisor(reg, value);
	else if (reg == DATA && !(port.modem & LOOPBACK))
		bs_port_put();
}

static int64_t full_until(void)
{
	return bs_port_fewer_ns(1);
}

static size_t flags(uint64_t offset, struct bs_port_flag found[BS_MAX_FLAGS])
{
	if (offset / port.watch->register_bytes != STATUS)
		return 0;
	found[0] = (struct bs_port_flag){ROOM, false, bs_port_fewer_ns(1)};
	found[1] = (struct bs_port_flag){ALL_SENT, false, bs_port_sent_ns()};
	return 2;
}

static bool hides(uint64_t offset, uint64_t *value)
{
	*value = NO_INTERRUPT | (port.fifo & FIFO_ON ? SAYS_FIFO : 0);
	return offset / port.watch->register_bytes == FIFO;
}

bool bs_paced_16550_start(const struct bs_paced *p)
{
	static const struct bs_port_kind kind = {stored, flags, full_until, hides};

	port.watch = p;
	return bs_paced_port_start(p, &kind);
}
