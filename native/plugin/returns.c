// SPDX-License-Identifier: GPL-2.0-or-later
#include "returns.h"

#include <string.h>

#include "capture.h"
#include "clock.h"
#include "cpus.h"
#include "record.h"
#include "registers.h"

struct expected {
	uint64_t pc, sp;
	const struct bs_hook *hook;
};

static struct {
	const struct bs_watch *watch;
	qemu_plugin_u64 counter;
	struct expected of[BS_MAX_EXPECTED];
	size_t n;
} calls;

void bs_returns_init(const struct bs_watch *w)
{
	calls.watch = w;
	calls.counter.score = qemu_plugin_scoreboard_new(sizeof(uint64_t));
	calls.counter.offset = 0;
}

qemu_plugin_u64 bs_returns_counter(void)
{
	return calls.counter;
}

static void forget(size_t at)
{
	calls.n--;
	memmove(&calls.of[at], &calls.of[at + 1], (calls.n - at) * sizeof(calls.of[0]));
}

/* Of several CPUs, each looks at every block: conditions on scoreboards are not for them (cpus.h). */
static void tell_blocks(void)
{
	if (bs_cpus_one())
		*(uint64_t *)qemu_plugin_scoreboard_find(calls.counter.score, 0) = calls.n;
}

void bs_returns_expect(const struct bs_hook *h)
{
	const struct bs_watch *w = calls.watch;
	struct expected now = {.sp = bs_register(w->sp), .hook = h};

	if (w->link != BS_NO_REGISTER) {
		now.pc = bs_register(w->link);
	} else {
		/* The call has put it on the stack, and the return takes it off. */
		now.pc = bs_word(now.sp);
		now.sp += w->word_bytes;
	}
	now.pc &= ~w->mode_bits;
	/* Where it stands already, that call never returned: its stack was given to another task, or left. */
	for (size_t i = calls.n; i-- > 0;)
		if (calls.of[i].sp == now.sp && calls.of[i].pc == now.pc && calls.of[i].hook == h)
			forget(i);
	if (calls.n == BS_MAX_EXPECTED)
		forget(0);
	calls.of[calls.n++] = now;
	tell_blocks();
}

static void record_return(const struct expected *e, int64_t now_ns)
{
	struct bs_payload p = {.size = 0};

	bs_put_uint(&p, e->hook->return_id);
	bs_put_byte(&p, 2);
	bs_put_uint(&p, e->sp);
	bs_put_uint(&p, bs_register(e->hook->result));
	/* As the hook itself: none of it is news in a guest that hangs. */
	if (e->hook->routine)
		bs_record_routine(BS_REC_HOOK, now_ns, &p);
	else
		bs_record(BS_REC_HOOK, now_ns, &p);
}

void bs_returns_block(uint64_t pc, uint64_t rest)
{
	uint64_t sp = bs_register(calls.watch->sp);
	bool found = false;

	/* The innermost first. Two hooks in a chain of jumps return at once. */
	for (size_t i = calls.n; i-- > 0;) {
		if (calls.of[i].pc != pc || calls.of[i].sp != sp)
			continue;
		struct expected e = calls.of[i];
		forget(i);
		record_return(&e, bs_clock_now(rest));
		found = true;
	}
	if (found)
		tell_blocks();
}
