// SPDX-License-Identifier: GPL-2.0-or-later
#include "paced_port.h"

#include "mmio_proxy.h"
#include "held_irq.h"
#include "paced.h"

/* Who was told to wait, and asks again within this time without storing anything in between, does nothing else. */
#define AGAIN_NS 20000
#define NEVER_NS (-AGAIN_NS)

static struct {
	struct bs_proxy proxy;
	struct bs_held_irq line;
	const struct bs_paced *watch;
	const struct bs_port_kind *kind;
	int64_t byte_ns;
	int64_t leaves_ns[BS_MAX_FIFO]; /* ring: when each byte is off the line */
	uint32_t at, held;		 /* where the oldest is, and how many there are */
	int64_t sent_ns;		 /* when the last one is */
	int64_t asked_ns;		 /* when it was last asked, and was not ready for all */
} port = {.asked_ns = NEVER_NS};

void bs_port_takes(int64_t byte_ns)
{
	port.byte_ns = byte_ns;
}

int64_t bs_port_sent_ns(void)
{
	return port.sent_ns;
}

int64_t bs_port_room_ns(void)
{
	return port.held == port.watch->fifo_bytes ? port.leaves_ns[port.at] : 0;
}

int64_t bs_port_fewer_ns(uint32_t bytes)
{
	if (port.held < bytes)
		return 0;
	/* A byte waits no longer when the line takes it, which is when the one before it is off. */
	uint32_t place = (port.at + port.held - bytes) % port.watch->fifo_bytes;
	return port.leaves_ns[place] - port.byte_ns;
}

void bs_port_put(void)
{
	uint32_t depth = port.watch->fifo_bytes;
	int64_t now_ns = bs_paced_now();

	if (port.held == depth) {
		now_ns = bs_paced_wait(port.watch->io->id, port.leaves_ns[port.at]);
		port.at = (port.at + 1) % depth;
		port.held--;
	}
	port.sent_ns = (port.sent_ns > now_ns ? port.sent_ns : now_ns) + port.byte_ns;
	port.leaves_ns[(port.at + port.held++) % depth] = port.sent_ns;
}

static void write_port(struct bs_proxy *f, uint64_t offset, uint64_t value, unsigned int bytes)
{
	bs_held_enter(&port.line);
	port.asked_ns = NEVER_NS;
	port.kind->stored(offset, value);
	bs_proxy_write(f, offset, value, bytes);
	port.line.until_ns = port.kind->full_until();
	bs_held_leave(&port.line, bs_paced_now());
}

/* What a register says; a loop that polls it ends when the first of the flags changes. */
static uint64_t said(uint64_t value, const struct bs_port_flag *flags, size_t n)
{
	int64_t now_ns = bs_paced_now(), first_ns = INT64_MAX;

	for (size_t i = 0; i < n; i++)
		if (now_ns < flags[i].until_ns && flags[i].until_ns < first_ns)
			first_ns = flags[i].until_ns;
	if (first_ns != INT64_MAX && now_ns - port.asked_ns < AGAIN_NS)
		now_ns = bs_paced_wait(port.watch->io->id, first_ns);
	for (size_t i = 0; i < n; i++) {
		if (now_ns >= flags[i].until_ns)
			continue;
		port.asked_ns = now_ns; /* in vain, perhaps */
		value = flags[i].set ? value | flags[i].bits : value & ~flags[i].bits;
	}
	return value;
}

static uint64_t read_port(struct bs_proxy *f, uint64_t offset, unsigned int bytes)
{
	struct bs_port_flag flags[BS_MAX_FLAGS];
	uint64_t value;

	/* QEMU's port would report the interrupt that is still held back, and clear it. */
	if (port.kind->hides && port.line.high && !port.line.told && port.kind->hides(offset, &value) &&
	    bs_paced_now() < port.line.until_ns)
		return value;
	bs_held_enter(&port.line);
	value = said(bs_proxy_read(f, offset, bytes), flags, port.kind->flags(offset, flags));
	bs_held_leave(&port.line, bs_paced_now());
	return value;
}

static const struct bs_proxy_ops does = {read_port, write_port};

bool bs_paced_port_start(const struct bs_paced *p, const struct bs_port_kind *kind)
{
	port.watch = p;
	port.kind = kind;
	port.byte_ns = p->byte_ns;
	return bs_proxy_add(&port.proxy, &does, p->io->start, p->io->end - p->io->start) &&
	       bs_held_take(&port.line, port.proxy.device);
}
