// SPDX-License-Identifier: GPL-2.0-or-later
#include "cpus.h"

#include <stdio.h>

#include "qemu_api.h"

static struct {
	unsigned int number;
	void *known[BS_MAX_CPUS];
	void *last; /* who was asked for before, and its number */
	unsigned int last_number;
} cpus = {.number = 1};

bool bs_cpus_init(int number)
{
	if (number < 1 || number > BS_MAX_CPUS) {
		fprintf(stderr, "bootscope plugin: a machine with %d CPUs; 1 to %d are possible\n", number,
			BS_MAX_CPUS);
		return false;
	}
	if (number > 1 && !qemu_get_cpu) {
		fputs("bootscope plugin: this QEMU does not tell which of several CPUs runs\n", stderr);
		return false;
	}
	cpus.number = (unsigned int)number;
	return true;
}

bool bs_cpus_one(void)
{
	return cpus.number == 1;
}

unsigned int bs_cpus_number(void)
{
	return cpus.number;
}

void *bs_cpu_object(unsigned int cpu)
{
	if (!cpus.known[cpu])
		cpus.known[cpu] = qemu_get_cpu((int)cpu);
	return cpus.known[cpu];
}

unsigned int bs_cpu_number(const void *object)
{
	for (unsigned int i = 0; i < cpus.number; i++)
		if (bs_cpu_object(i) == object)
			return i;
	return 0;
}

unsigned int bs_cpu(void)
{
	if (cpus.number == 1)
		return 0;
	if (current_cpu != cpus.last) {
		cpus.last = current_cpu;
		cpus.last_number = bs_cpu_number(current_cpu);
	}
	return cpus.last_number;
}
