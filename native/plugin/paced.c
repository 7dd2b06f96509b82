// SPDX-License-Identifier: GPL-2.0-or-later
#include "paced.h"

#include <stdio.h>
#include <unistd.h>

#include "clock.h"
#include "devices.h"
#include "qemu_api.h"
#include "record.h"
#include "run.h"
#include "timing.h"

static struct {
	struct bs_watch *watch;
	struct bs_notifier complete;
	uint32_t io;	   /* that was waited for last, */
	int64_t waited_ns; /* for so long, which is not recorded yet, */
	int64_t at_ns;	   /* until then */
} paced;

static void on_complete(struct bs_notifier *notifier, void *data)
{
	(void)notifier;
	(void)data;
	for (size_t i = 0; i < paced.watch->n_paced; i++)
		if (!paced.watch->paced[i].start(&paced.watch->paced[i]))
			_exit(1);
}

bool bs_paced_init(struct bs_watch *w)
{
	if (!w->n_paced)
		return true;
	if (!qemu_add_machine_init_done_notifier) {
		fputs("bootscope plugin: this QEMU does not tell when its machine is complete; record without "
		      "guest-clock=board, or with QEMU 10.0\n",
		      stderr);
		return false;
	}
	paced.watch = w;
	paced.complete.notify = on_complete;
	qemu_add_machine_init_done_notifier(&paced.complete);
	return true;
}

int64_t bs_paced_now(void)
{
	bs_devices_sync();
	return bs_clock_now(0);
}

void bs_paced_record(void)
{
	struct bs_payload p = {.size = 0};

	if (!paced.waited_ns)
		return;
	bs_put_uint(&p, paced.io);
	bs_put_uint(&p, (uint64_t)paced.waited_ns);
	paced.waited_ns = 0;
	bs_record_routine(BS_REC_WAITED, paced.at_ns, &p);
}

int64_t bs_paced_wait(uint32_t io, int64_t until_ns)
{
	int64_t now_ns = bs_paced_now();

	if (until_ns <= now_ns)
		return now_ns;
	if (io != paced.io)
		bs_paced_record();
	bs_timing_wait(until_ns - now_ns);
	bs_run_slept(until_ns - now_ns);
	paced.io = io;
	paced.waited_ns += until_ns - now_ns;
	return paced.at_ns = bs_clock_now(0);
}
