// SPDX-License-Identifier: GPL-2.0-or-later
#include "paced_card.h"

#include "mmio_proxy.h"
#include "held_irq.h"
#include "paced.h"

#define PER_S 1000000000

static struct {
	struct bs_proxy proxy;
	struct bs_held_irq line;
	const struct bs_paced *watch;
	const struct bs_card_kind *kind;
	uint64_t bytes, block_bytes; /* of the transfer */
	uint64_t fetched;	     /* of these, by the CPU */
	int64_t data_ns;	     /* when the first of them is there */
	int64_t done_ns;	     /* when all are */
} card;

static int64_t sent_ns(uint64_t bytes)
{
	if (bytes >= card.bytes)
		return card.done_ns;
	return card.data_ns + (int64_t)(bytes * PER_S / card.watch->bytes_per_s);
}

void bs_card_begin(uint64_t bytes, uint64_t block_bytes)
{
	int64_t now_ns = bs_paced_now();

	card.data_ns = (card.done_ns > now_ns ? card.done_ns : now_ns) + card.watch->latency_ns;
	card.line.until_ns = card.done_ns = card.data_ns + (int64_t)(bytes * PER_S / card.watch->bytes_per_s);
	card.bytes = bytes;
	card.block_bytes = block_bytes;
	card.fetched = 0;
}

static void write_card(struct bs_proxy *f, uint64_t offset, uint64_t value, unsigned int bytes)
{
	bs_held_enter(&card.line);
	card.kind->stored(offset, value);
	bs_proxy_write(f, offset, value, bytes);
	bs_held_leave(&card.line, bs_paced_now());
}

static uint64_t read_card(struct bs_proxy *f, uint64_t offset, unsigned int bytes)
{
	if (offset == card.kind->data_at)
		bs_paced_wait(card.watch->io->id, sent_ns(card.fetched += bytes));
	else if (offset == card.kind->state_at)
		bs_paced_wait(card.watch->io->id,
			      card.block_bytes ? sent_ns(card.fetched + card.block_bytes) : card.done_ns);
	bs_held_enter(&card.line);
	uint64_t value = bs_proxy_read(f, offset, bytes);
	bs_held_leave(&card.line, bs_paced_now());
	return value;
}

static const struct bs_proxy_ops does = {read_card, write_card};

bool bs_paced_card_start(const struct bs_paced *p, const struct bs_card_kind *kind)
{
	card.watch = p;
	card.kind = kind;
	return bs_proxy_add(&card.proxy, &does, p->io->start, p->io->end - p->io->start) &&
	       bs_held_take(&card.line, card.proxy.device);
}
