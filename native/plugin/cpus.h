/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which CPU runs. QEMU runs them one after the other, on one thread; parallel.h says what time it is there.
 *
 * On a machine with several, no inline operation and no index that a callback is given can be trusted:
 * inline operations are compiled for the first CPU, with a wrong factor for others, and the index is that
 * of the CPU that translated the block (QEMU 10.0, gen_plugin_u64_ptr in accel/tcg/plugin-gen.c). So
 * blocks have plain callbacks there, and who runs is asked of QEMU.
 */
#ifndef BOOTSCOPE_CPUS_H
#define BOOTSCOPE_CPUS_H

#include <stdbool.h>

#define BS_MAX_CPUS 64

/* False, with a reason on stderr, for a number of CPUs that cannot be told apart. */
bool bs_cpus_init(int number);

/* Whether there is one CPU only, and so no need to ask. */
bool bs_cpus_one(void);

unsigned int bs_cpus_number(void);

/* The number of the CPU that runs. */
unsigned int bs_cpu(void);

/* QEMU's object of a CPU, NULL before there is one; and the number of an object. */
void *bs_cpu_object(unsigned int cpu);
unsigned int bs_cpu_number(const void *object);

#endif
