// SPDX-License-Identifier: GPL-2.0-or-later
#include "returns.h"


#include "capture.h"
#include "clock.h"
#include "cpus.h"
#include "record.h"
#include "registers.h"

#define PAGE_BYTES 4096 /* the smallest of any architecture */
#define LISTS 1024

/* In a list with others whose stack pointers look alike, the latest first. */
struct expected {
	uint64_t pc, sp, serial;
	const struct bs_hook *hook;
	struct expected *next;
};

static struct {
	const struct bs_watch *watch;
	qemu_plugin_u64 counter;
	struct expected pool[BS_MAX_EXPECTED];
	struct expected *unused, *list[LISTS];
	uint16_t in_page[PAGE_BYTES]; /* how many return to this place of a page */
	uint64_t n, serial;
} calls;

void bs_returns_init(const struct bs_watch *w)
{
	calls.watch = w;
	calls.counter.score = qemu_plugin_scoreboard_new(sizeof(uint64_t));
	calls.counter.offset = 0;
	for (size_t i = 0; i < BS_MAX_EXPECTED; i++) {
		calls.pool[i].next = calls.unused;
		calls.unused = &calls.pool[i];
	}
}

qemu_plugin_u64 bs_returns_counter(void)
{
	return calls.counter;
}

bool bs_returns_may(uint64_t vaddr)
{
	return calls.in_page[vaddr % PAGE_BYTES];
}

static struct expected **list_of(uint64_t sp)
{
	return &calls.list[sp / calls.watch->word_bytes % LISTS];
}

/* Takes out what a link of a list points to. */
static void forget(struct expected **link)
{
	struct expected *e = *link;

	*link = e->next;
	calls.in_page[e->pc % PAGE_BYTES]--;
	calls.n--;
	e->hook = NULL;
	e->next = calls.unused;
	calls.unused = e;
}

static void forget_all(bool (*which)(const struct expected *e, uint64_t what), uint64_t what)
{
	for (size_t i = 0; i < LISTS; i++)
		for (struct expected **link = &calls.list[i]; *link;) {
			if (which(*link, what))
				forget(link);
			else
				link = &(*link)->next;
		}
}

/* Of several CPUs, each looks at every block: conditions on scoreboards are not for them (cpus.h). */
static void tell_blocks(void)
{
	if (bs_cpus_one())
		*(uint64_t *)qemu_plugin_scoreboard_find(calls.counter.score, 0) = calls.n;
}

static bool older(const struct expected *e, uint64_t serial)
{
	return e->serial < serial;
}

static void add(const struct expected *now)
{
	struct expected **list = list_of(now->sp), *e;

	/* Without room a quarter of them goes. */
	if (!calls.unused) {
		uint64_t first = calls.serial;
		for (size_t i = 0; i < BS_MAX_EXPECTED; i++)
			if (calls.pool[i].serial < first)
				first = calls.pool[i].serial;
		forget_all(older, first + (calls.serial - first) / 4 + 1);
	}
	e = calls.unused;
	calls.unused = e->next;
	*e = *now;
	e->serial = calls.serial++;
	e->next = *list;
	*list = e;
	calls.in_page[e->pc % PAGE_BYTES]++;
	calls.n++;
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
		now.sp = bs_address(now.sp + w->word_bytes);
	}
	now.pc &= ~w->mode_bits;
	/* Where it stands already, that call has never returned. */
	for (struct expected **link = list_of(now.sp); *link;) {
		if ((*link)->sp == now.sp && (*link)->pc == now.pc && (*link)->hook == h)
			forget(link);
		else
			link = &(*link)->next;
	}
	add(&now);
	tell_blocks();
}

/* An empty stack's pointer is that of its end. */
static bool on_stack(const struct expected *e, uint64_t stack)
{
	return (e->sp - 1) / calls.watch->task_stack_bytes == stack;
}

void bs_returns_over(void)
{
	forget_all(on_stack, (bs_register(calls.watch->sp) - 1) / calls.watch->task_stack_bytes);
	tell_blocks();
}

static void record_return(const struct bs_hook *h, uint64_t sp, int64_t now_ns)
{
	struct bs_payload p = {.size = 0};

	bs_put_uint(&p, h->return_id);
	bs_put_byte(&p, 2);
	bs_put_uint(&p, sp);
	bs_put_uint(&p, bs_register(h->result));
	/* As the hook itself: no news in a guest that hangs. */
	if (h->routine)
		bs_record_routine(BS_REC_HOOK, now_ns, &p);
	else
		bs_record(BS_REC_HOOK, now_ns, &p);
}

void bs_returns_block(uint64_t pc, uint64_t rest)
{
	uint64_t sp = bs_register(calls.watch->sp);

	/* The innermost first: a function that has jumped into another one returns with that. */
	for (struct expected **link = list_of(sp); *link;) {
		if ((*link)->pc != pc || (*link)->sp != sp) {
			link = &(*link)->next;
			continue;
		}
		const struct bs_hook *h = (*link)->hook;
		forget(link);
		record_return(h, sp, bs_clock_now(rest));
	}
	tell_blocks();
}
