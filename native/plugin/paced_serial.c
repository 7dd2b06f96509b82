// SPDX-License-Identifier: GPL-2.0-or-later
#include "paced_serial.h"

#include "front.h"
#include "held_line.h"
#include "paced.h"

#define BITS 10	      /* of a byte on the line */
#define SAMPLES 16    /* of a bit */
#define PER_S 1000000000
#define AGAIN_NS 20000 /* who was told that there is no room, and asks again within this time, does nothing else */

enum reg { DATA = 0, INTERRUPT = 1, QUEUE = 2, LINE = 3, MODEM = 4, STATUS = 5 };

#define LATCH 0x80	   /* of LINE: the first two registers hold the divisor */
#define LOOPBACK 0x10	   /* of MODEM */
#define ROOM 0x20	   /* of STATUS: the queue is empty */
#define ALL_SENT 0x40	   /* ... and the line too */
#define NO_INTERRUPT 0x01  /* of QUEUE, when read */
#define QUEUES 0x01	   /* of QUEUE, when stored */
#define SAYS_QUEUES 0xc0

static struct {
	struct bs_front front; /* first, so that it is this */
	struct bs_held_line line;
	const struct bs_paced *watch;
	uint8_t control, modem, queue, divisor[2];
	int64_t byte_ns;
	int64_t leaves_ns[BS_MAX_QUEUE]; /* ring: when each byte is off the line */
	uint32_t at, held;		 /* where the oldest is, and how many there are */
	int64_t sent_ns;		 /* when the last one is */
	int64_t asked_ns;		 /* when it was last asked in vain */
} port;

/* The queue is empty when its last byte is on the line. */
static int64_t empty_ns(void)
{
	return port.sent_ns - port.byte_ns;
}

static void take_divisor(size_t half, uint64_t value)
{
	port.divisor[half] = (uint8_t)value;
	int64_t divisor = port.divisor[0] | port.divisor[1] << 8;
	if (divisor)
		port.byte_ns = BITS * SAMPLES * divisor * PER_S / (int64_t)port.watch->clock_hz;
}

static void put_byte(void)
{
	uint32_t depth = port.watch->queue_bytes;
	int64_t now_ns = bs_paced_now();

	if (port.held == depth) {
		now_ns = bs_paced_wait(port.watch->io->id, port.leaves_ns[port.at]);
		port.at = (port.at + 1) % depth;
		port.held--;
	}
	port.sent_ns = (port.sent_ns > now_ns ? port.sent_ns : now_ns) + port.byte_ns;
	port.leaves_ns[(port.at + port.held++) % depth] = port.sent_ns;
	port.line.until_ns = empty_ns();
}

static void stored(uint64_t reg, uint64_t value)
{
	if (reg == LINE)
		port.control = (uint8_t)value;
	else if (reg == MODEM)
		port.modem = (uint8_t)value;
	else if (reg == QUEUE)
		port.queue = (uint8_t)value;
	else if (reg <= INTERRUPT && port.control & LATCH)
		take_divisor(reg, value);
	else if (reg == DATA && !(port.modem & LOOPBACK))
		put_byte();
}

static void write_port(struct bs_front *f, uint64_t offset, uint64_t value, unsigned int bytes)
{
	bs_held_enter(&port.line);
	stored(offset / port.watch->register_bytes, value);
	bs_front_write(f, offset, value, bytes);
	bs_held_leave(&port.line, bs_paced_now());
}

/* What the port says of its queue; a loop that asks is over when it is empty. */
static uint64_t status_of(uint64_t status)
{
	int64_t now_ns = bs_paced_now();

	if (now_ns < empty_ns() && now_ns - port.asked_ns < AGAIN_NS)
		now_ns = bs_paced_wait(port.watch->io->id, empty_ns());
	if (now_ns < empty_ns()) {
		port.asked_ns = now_ns;
		status &= ~(uint64_t)(ROOM | ALL_SENT);
	} else if (now_ns < port.sent_ns)
		status &= ~(uint64_t)ALL_SENT;
	return status;
}

static uint64_t read_port(struct bs_front *f, uint64_t offset, unsigned int bytes)
{
	uint64_t reg = offset / port.watch->register_bytes, value;

	/* QEMU's port would say that its queue is empty, and forget that it wanted to. */
	if (reg == QUEUE && port.line.high && !port.line.told && bs_paced_now() < empty_ns())
		return NO_INTERRUPT | (port.queue & QUEUES ? SAYS_QUEUES : 0);
	bs_held_enter(&port.line);
	value = bs_front_read(f, offset, bytes);
	if (reg == STATUS)
		value = status_of(value);
	bs_held_leave(&port.line, bs_paced_now());
	return value;
}

static const struct bs_front_does does = {read_port, write_port};

bool bs_paced_serial_start(const struct bs_paced *p)
{
	port.watch = p;
	port.byte_ns = p->byte_ns;
	return bs_front_put(&port.front, &does, p->io->start, p->io->end - p->io->start) &&
	       bs_held_take(&port.line, port.front.device);
}
