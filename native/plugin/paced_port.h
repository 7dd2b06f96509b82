/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A serial port whose bytes take as long as on the line. Its status registers say what those of the board would, and
 * its transmit interrupt comes when the FIFO has room.
 *
 * A loop that polls for room is cut short: when it asks for the second time, the clock moves on to when there is
 * room. Running it through would take as long, and cost host time.
 */
#ifndef BOOTSCOPE_PACED_PORT_H
#define BOOTSCOPE_PACED_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "watch.h"

#define BS_PORT_BITS 10 /* of a byte on the line */
#define BS_MAX_FLAGS 2

/* Bits of a status register that are cleared, or `set`, until then. */
struct bs_port_flag {
	uint64_t bits;
	bool set;
	int64_t until_ns;
};

/* A kind of port, by what its registers mean. */
struct bs_port_kind {
	/* The guest has stored to a register. */
	void (*stored)(uint64_t offset, uint64_t value);
	/* The bits of a register that depend on the FIFO; returns how many flags were filled in. */
	size_t (*flags)(uint64_t offset, struct bs_port_flag flags[BS_MAX_FLAGS]);
	/* Until when there is no room, for the interrupt. */
	int64_t (*full_until)(void);
	/* A register that says by itself which interrupt there is: what it says while none is due. Or NULL. */
	bool (*hides)(uint64_t offset, uint64_t *value);
};

/* Once the machine is complete. False, with a reason on stderr, when it cannot be done. */
bool bs_paced_port_start(const struct bs_paced *p, const struct bs_port_kind *kind);

/* For kinds: a byte is put into the FIFO; how long one takes from now on. */
void bs_port_put(void);
void bs_port_takes(int64_t byte_ns);

/* When the last byte is off the line, when there is room for one more, and when fewer than `bytes` wait for the
 * line, without the one on it. */
int64_t bs_port_sent_ns(void);
int64_t bs_port_room_ns(void);
int64_t bs_port_fewer_ns(uint32_t bytes);

#endif
