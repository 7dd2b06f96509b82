/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns an Arduino Uno, Nano or another board with an ATmega328P into a small logic analyser: watches pins D2 to
 * D7 and writes a line for each edge, at 115200 baud. docs/pins.md says how to wire it.
 *
 * All six pins are one port: any edge on it interrupts, and the interrupt notes time and levels. Others wait in
 * a ring until they are written.
 */
#include "edges.h"

#if !defined(PCINT2_vect) || !defined(PIND)
#error "this sketch is for boards with an ATmega328P, such as the Uno and the Nano"
#endif

static const uint8_t FIRST = 2, COUNT = 6, RING = 128;
static const uint8_t MASK = 0xfc;
static const uint8_t PINS[] = {2, 3, 4, 5, 6, 7};
/* micros() counts in steps of 4; another interrupt can keep ours waiting for some more. A ceramic resonator, as
 * the Uno and the Nano have, may be half a percent off. */
static const bs_clock CLOCK = {1000, 16000, 5000, "D"};
static const uint32_t SECOND = 1000000;

struct Seen {
	uint32_t ticks;
	uint8_t levels;
};

static volatile Seen ring[RING];
static volatile uint8_t filled, taken;
static volatile uint16_t lost;

ISR(PCINT2_vect)
{
	const uint8_t levels = PIND;
	const uint32_t ticks = micros();
	const uint8_t next = (filled + 1) % RING;

	if (next == taken) {
		lost++;
		return;
	}
	ring[filled].ticks = ticks;
	ring[filled].levels = levels;
	filled = next;
}

static char line[BS_LINE];
/* The levels as they were written last: two edges of one pin may be too near to each other to be seen apart. */
static uint8_t told;
static uint32_t beat;

static void tell_state(uint32_t now)
{
	beat = now;
	Serial.write(line, bs_state(line, &CLOCK, now, PINS, COUNT, (told & MASK) >> FIRST));
}

void setup()
{
	Serial.begin(115200);
	for (uint8_t i = 0; i < COUNT; i++)
		pinMode(PINS[i], INPUT);
	told = PIND;
	tell_state(micros());
	PCMSK2 |= MASK;
	PCIFR |= 1 << PCIF2;
	PCICR |= 1 << PCIE2;
}

static void tell_edges(uint32_t ticks, uint8_t levels)
{
	const uint8_t changed = (levels ^ told) & MASK;

	for (uint8_t i = 0; i < COUNT; i++)
		if (changed & 1 << PINS[i])
			Serial.write(line, bs_edge(line, &CLOCK, ticks, PINS[i], levels >> PINS[i] & 1));
	told = levels;
}

void loop()
{
	uint32_t now;
	uint16_t missed;
	bool empty;

	if (taken != filled) {
		tell_edges(ring[taken].ticks, ring[taken].levels);
		taken = (taken + 1) % RING;
		return;
	}
	/* An edge that came meanwhile is told first, so that stamps never go back. */
	noInterrupts();
	now = micros();
	empty = taken == filled;
	missed = empty ? lost : 0;
	lost -= missed;
	interrupts();
	if (missed)
		Serial.write(line, bs_lost(line, now, missed));
	if (empty && now - beat >= SECOND)
		tell_state(now);
}
