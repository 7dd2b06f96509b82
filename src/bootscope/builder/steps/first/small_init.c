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

struct file_system {
	const char *source, *target, *kind;
	unsigned long flags;
	const char *data;
};

#include "plan.h"

static void complain(const char *what, const char *name)
{
	write(2, what, strlen(what));
	write(2, name, strlen(name));
	write(2, "\n", 1);
}

int main(void)
{
	for (const struct file_system *f = file_systems; f->target; f++)
		if (mount(f->source, f->target, f->kind, f->flags, f->data))
			complain("small-init: cannot mount ", f->target);
	execve(command[0], command, environment);
	complain("small-init: cannot run ", command[0]);
	return 1;
}
