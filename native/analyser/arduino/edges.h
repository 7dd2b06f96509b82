/* SPDX-License-Identifier: Apache-2.0
 *
 * The lines that an analyser writes, one for each edge. Plain C without any library, so that the very same code
 * runs on a microcontroller and in the tests of what reads the lines. docs/pins.md describes them:
 *
 *   bs1 TICKS PIN LEVEL
 *   bs1 TICKS lost COUNT
 *   bs1 TICKS state tick_ns=N resolution_ns=N ppm=N wrap=N pins=A,B,... levels=01...
 */
#ifndef BOOTSCOPE_EDGES_H
#define BOOTSCOPE_EDGES_H

#include <stddef.h>
#include <stdint.h>

/* The longest line there can be, with 16 pins. */
#define BS_LINE 192
#define BS_PINS 16

/* What its stamps are worth: a tick lasts `tick_ns`; an edge may be told `resolution_ns` off; its crystal or
 * resonator may be `ppm` off; the ticks are counted in 32 bits. Pins are called `prefix` and a number. */
struct bs_clock {
	uint32_t tick_ns;
	uint32_t resolution_ns;
	uint32_t ppm;
	const char *prefix;
};

static char *bs_text(char *at, const char *text)
{
	while (*text)
		*at++ = *text++;
	return at;
}

static char *bs_number(char *at, uint32_t value)
{
	char digits[10];
	uint8_t count = 0;

	do {
		digits[count++] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	while (count)
		*at++ = digits[--count];
	return at;
}

static char *bs_start(char *at, uint32_t ticks)
{
	at = bs_number(bs_text(at, "bs1 "), ticks);
	*at++ = ' ';
	return at;
}

static char *bs_pin(char *at, const struct bs_clock *clock, uint8_t pin)
{
	return bs_number(bs_text(at, clock->prefix), pin);
}

static size_t bs_end(char *line, char *at)
{
	*at++ = '\n';
	*at = 0;
	return (size_t)(at - line);
}

/* Writes the line of an edge: `pin` was seen at `level`. Returns its length, as the others do. */
static inline size_t bs_edge(char *line, const struct bs_clock *clock, uint32_t ticks, uint8_t pin, uint8_t level)
{
	char *at = bs_pin(bs_start(line, ticks), clock, pin);

	*at++ = ' ';
	*at++ = level ? '1' : '0';
	return bs_end(line, at);
}

/* So many edges came too fast to be written. */
static inline size_t bs_lost(char *line, uint32_t ticks, uint32_t count)
{
	return bs_end(line, bs_number(bs_text(bs_start(line, ticks), "lost "), count));
}

/* What the stamps are worth, and the levels now: bit n of `levels` is `pins[n]`. Written at the start and once a
 * second, so that whoever listens later knows it too. */
static inline size_t bs_state(char *line, const struct bs_clock *clock, uint32_t ticks, const uint8_t *pins,
			      uint8_t count, uint16_t levels)
{
	char *at = bs_text(bs_start(line, ticks), "state tick_ns=");
	uint8_t i;

	at = bs_number(at, clock->tick_ns);
	at = bs_number(bs_text(at, " resolution_ns="), clock->resolution_ns);
	at = bs_number(bs_text(at, " ppm="), clock->ppm);
	at = bs_text(at, " wrap=4294967296 pins=");
	for (i = 0; i < count; i++) {
		if (i)
			*at++ = ',';
		at = bs_pin(at, clock, pins[i]);
	}
	at = bs_text(at, " levels=");
	for (i = 0; i < count; i++)
		*at++ = levels >> i & 1 ? '1' : '0';
	return bs_end(line, at);
}

#endif
