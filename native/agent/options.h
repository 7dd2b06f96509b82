/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agent is told: by arguments, or, where it is started as init, by words of the kernel's
 * command line that begin with "bootscope.". Both know the same names.
 */
#ifndef AGENT_OPTIONS_H
#define AGENT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct options {
	const char *init;	  /* the program to go on with as process 1; NULL: where kernels look for it */
	const char *stop_process; /* its name as the kernel knows it; NULL for none of these */
	const char *stop_file;
	const char *stop_message;
	const char *output; /* NULL: the usual places */
	const char *console;
	const char *sources; /* NULL or "all", "perf", "connector", "proc" */
	uint32_t period_ms;
	uint32_t stop_after_ms;
	uint32_t linger_ms; /* how long it goes on after what it waited for */
	uint32_t memory_kib;
	bool trace; /* take the kernel's trace along */
};

extern const char options_help[];

void options_init(struct options *o);

/* Takes one option; `value` is NULL where none was given. Returns NULL, or what is wrong with it. */
const char *options_set(struct options *o, const char *name, size_t name_size, const char *value);

/* Takes the arguments; returns NULL or what is wrong, and the argument that it is about in *which. */
const char *options_arguments(struct options *o, int argc, char **argv, const char **which);

/* Takes "bootscope.*" out of a kernel command line, which is changed and must stay. Words that are
 * wrong are left out and counted: a typing error must not keep a board from booting. */
unsigned int options_command_line(struct options *o, char *line);

#endif
