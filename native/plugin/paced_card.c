// SPDX-License-Identifier: GPL-2.0-or-later
#include "paced_card.h"

#include "front.h"
#include "held_line.h"
#include "paced.h"

#define PER_S 1000000000

static struct {
	struct bs_front front; /* first, so that it is this */
	struct bs_held_line line;
	const struct bs_paced *watch;
	uint64_t bytes;	  /* of the next transfer */
	int64_t data_ns;  /* when the first of the bytes is there */
	int64_t done_ns;  /* when all are */
	uint64_t fetched; /* bytes of the transfer that the CPU has fetched */
} card;

static int64_t sent_ns(uint64_t bytes)
{
	return card.data_ns + (int64_t)(bytes * PER_S / card.watch->bytes_per_s);
}

static void begin(void)
{
	int64_t now_ns = bs_paced_now();

	card.data_ns = (card.done_ns > now_ns ? card.done_ns : now_ns) + card.watch->latency_ns;
	card.line.until_ns = card.done_ns = sent_ns(card.bytes);
	card.fetched = 0;
}

static void write_card(struct bs_front *f, uint64_t offset, uint64_t value, unsigned int bytes)
{
	const struct bs_paced *w = card.watch;

	bs_held_enter(&card.line);
	if (offset == w->size_at)
		card.bytes = value;
	else if (offset == w->command_at && (value & w->command_bits) == w->command_bits)
		begin();
	bs_front_write(f, offset, value, bytes);
	bs_held_leave(&card.line, bs_paced_now());
}

static uint64_t read_card(struct bs_front *f, uint64_t offset, unsigned int bytes)
{
	const struct bs_paced *w = card.watch;

	if (offset == w->data_at) {
		card.fetched += bytes;
		bs_paced_wait(w->io->id, card.fetched < card.bytes ? sent_ns(card.fetched) : card.done_ns);
	} else if (offset == w->state_at) {
		bs_paced_wait(w->io->id, card.done_ns);
	}
	bs_held_enter(&card.line);
	uint64_t value = bs_front_read(f, offset, bytes);
	bs_held_leave(&card.line, bs_paced_now());
	return value;
}

static const struct bs_front_does does = {read_card, write_card};

bool bs_paced_card_start(const struct bs_paced *p)
{
	card.watch = p;
	return bs_front_put(&card.front, &does, p->io->start, p->io->end - p->io->start) &&
	       bs_held_take(&card.line, card.front.device);
}
