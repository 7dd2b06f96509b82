// SPDX-License-Identifier: GPL-2.0-or-later
#include "polls.h"

#include <stddef.h>

#define WITHIN_INSNS 128 /* a loop that asks a device again within so many does nothing else */
#define REGISTERS 4	 /* such loops ask for a state, and what time it is */
#define NONE UINT64_MAX

static struct {
	uint64_t asked[REGISTERS]; /* in turn */
	uint32_t next;
	int64_t at_ns, within_ns;
} polls;

void bs_polls_init(int64_t tick_ns)
{
	polls.within_ns = WITHIN_INSNS * tick_ns;
	bs_polls_forget();
}

void bs_polls_forget(void)
{
	for (size_t i = 0; i < REGISTERS; i++)
		polls.asked[i] = NONE;
}

/* Whether a register was asked for lately; it is from now on. */
static bool asked(uint64_t address)
{
	for (size_t i = 0; i < REGISTERS; i++)
		if (polls.asked[i] == address)
			return true;
	polls.asked[polls.next] = address;
	polls.next = (polls.next + 1) % REGISTERS;
	return false;
}

bool bs_polls_again(uint64_t address, int64_t now_ns, int64_t *waited_ns)
{
	*waited_ns = now_ns - polls.at_ns;
	polls.at_ns = now_ns;
	if (*waited_ns < 0 || *waited_ns > polls.within_ns)
		bs_polls_forget();
	return asked(address);
}
