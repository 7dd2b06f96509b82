// SPDX-License-Identifier: GPL-2.0-or-later
#include "pause.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "qemu_api.h"

/* More than any QEMU's timer takes. */
#define TIMER_BYTES 256

static union {
	uint8_t bytes[TIMER_BYTES];
	uint64_t aligned;
} timer;

/* Says in the file when that was: it appears once no instruction is executed any more. */
static void say(const char *path, int64_t now_ns)
{
	char part[BS_PATH_BYTES + 8];

	snprintf(part, sizeof(part), "%s.part", path);
	FILE *f = fopen(part, "we");
	if (f)
		fprintf(f, "%" PRId64 "\n", now_ns);
	bool good = f && !ferror(f);
	if ((f && fclose(f)) || !good || rename(part, path))
		fprintf(stderr, "bootscope plugin: cannot write %s: %s\n", path, strerror(errno));
}

static void on_due(void *udata)
{
	const struct bs_pause *pause = udata;

	vm_stop(BS_QEMU_PAUSED);
	say(pause->path, qemu_clock_get_ns(BS_QEMU_CLOCK_VIRTUAL));
}

bool bs_pause_start(const struct bs_pause *pause)
{
	if (!timer_init_full || !timer_mod_ns || !vm_stop) {
		fputs("bootscope plugin: this QEMU does not let its plugins stop the machine\n", stderr);
		return false;
	}
	timer_init_full(timer.bytes, NULL, BS_QEMU_CLOCK_VIRTUAL, 1, 0, on_due, (void *)pause);
	timer_mod_ns(timer.bytes, pause->at_ns);
	return true;
}
