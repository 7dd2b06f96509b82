/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How CPUs that work at once wait for each other (parallel.h). `cpus` are all `n` of them, `c` is one. */
#ifndef BOOTSCOPE_WAITS_H
#define BOOTSCOPE_WAITS_H

#include <stdbool.h>
#include <stdint.h>

struct bs_cpu_time {
	int64_t at_ns;	  /* its time, as of the last look at QEMU's instruction count */
	int64_t sleep_ns; /* when it fell asleep */
	int64_t look_ns;  /* how long it took to look, while it waits for another one */
	int64_t stepped_ns; /* how far it has moved on while it waited, and nobody has asked since */
	int64_t wait_ns;  /* when it began to wait */
	int64_t turn_ns;  /* when its turn began */
	bool asleep;
	bool dozes;	   /* its last instruction puts it to sleep, unless there is something to do */
	bool yields;	   /* its last instruction ended its turn */
	bool waits;	   /* its last turn ended so: it looks again when it is that far */
	bool woken;	   /* and has not had a turn since */
	bool woken_by_main; /* likewise, by the thread that has no CPUs */
};

/* A CPU has looked, and waits on. Where it is ahead of others, they have to go on before it looks again. */
void bs_waits_step(const struct bs_cpu_time *cpus, unsigned int n, struct bs_cpu_time *c);

/*
 * How far a CPU may go: a quantum from where the last of those that work is, and until the next time that one
 * looks that waits. A CPU that waits itself sees what others have stored by now, so it is as late as they were.
 */
int64_t bs_waits_limit(const struct bs_cpu_time *cpus, unsigned int n, struct bs_cpu_time *c, int64_t quantum_ns);

#endif
