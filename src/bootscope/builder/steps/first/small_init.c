// SPDX-License-Identifier: Apache-2.0
/*
 * A first program that mounts and becomes another one. It needs three system calls, so that it can do with the
 * headers of the kernel's nolibc in the place of a C library. plan.h is made by the build.
 */
#ifndef NOLIBC
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>
#endif

#define MOST_VARIABLES 128

struct file_system {
	const char *source, *target, *kind;
	unsigned long flags;
	const char *data;
};

#include "plan.h"

static void say(const char *text)
{
	if (write(2, text, strlen(text)) < 0)
		return; /* nobody is there to be told */
}

static void complain(const char *what, const char *name)
{
	say(what);
	say(name);
	say("\n");
}

static int is_given(const char *variable)
{
	size_t name = (size_t)(strchr(variable, '=') - variable) + 1;

	for (char *const *one = given; *one; one++)
		if (!strncmp(*one, variable, name))
			return 1;
	return 0;
}

int main(int argc, char **argv, char **envp)
{
	static char *environment[MOST_VARIABLES + 1];
	int count = 0;

	(void)argc;
	(void)argv;
	for (const struct file_system *f = file_systems; f->target; f++)
		if (mount(f->source, f->target, f->kind, f->flags, f->data))
			complain("small-init: cannot mount ", f->target);
	for (char *const *one = given; *one && count < MOST_VARIABLES; one++)
		environment[count++] = *one;
	/* What the kernel gives: HOME, TERM, and words of its command line. */
	for (; *envp && count < MOST_VARIABLES; envp++)
		if (strchr(*envp, '=') && !is_given(*envp))
			environment[count++] = *envp;
	execve(command[0], command, environment);
	complain("small-init: cannot run ", command[0]);
	return 1;
}
