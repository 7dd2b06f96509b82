// SPDX-License-Identifier: Apache-2.0
/*
 * A first program that mounts and becomes another one. It needs few system calls, so that it can do with the
 * headers of the kernel's nolibc in the place of a C library. plan.h is made by the build.
 */
#ifdef NOLIBC
/* Where a register holds half of the place, its two halves begin with an even one (ARM's EABI). */
#define readahead(file, at, bytes) \
	(sizeof(long) == 8 ? my_syscall3(__NR_readahead, file, at, bytes) : \
			     my_syscall5(__NR_readahead, file, 0, at, 0, bytes))
#define SCHED_OTHER 0
#define SCHED_FIFO 1
struct sched_param {
	int sched_priority;
};
#define sched_setscheduler(pid, policy, how) my_syscall3(__NR_sched_setscheduler, pid, policy, how)
#else
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
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

/* A part of a file; its place is a multiple of a page. */
struct part {
	const char *path;
	unsigned long at, bytes;
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

#ifdef READ_AHEAD
/* The kernel does no more than this at a time, however much it is asked for: its usual window. */
#define WINDOW 131072UL

static void want(const struct part *part, int file)
{
	for (unsigned long done = 0; done < part->bytes; done += WINDOW) {
		unsigned long at = part->at + done, left = part->bytes - done;

		if (readahead(file, at, left < WINDOW ? left : WINDOW) < 0)
			return; /* the program will read it by itself */
	}
}

static void urgent(int policy, int priority)
{
	struct sched_param how = {priority};

	if (sched_setscheduler(0, policy, &how) < 0)
		return; /* then they take turns */
}

static void read_ahead(void)
{
	const char *path = 0;
	int file = -1;

	for (const struct part *part = parts; part->path; part++) {
		if (!path || strcmp(path, part->path)) {
			if (file >= 0)
				close(file);
			path = part->path;
			file = open(path, O_RDONLY);
		}
		if (file >= 0)
			want(part, file);
	}
}
#endif

#ifdef SEED_DEVICE
#include "seed.h"
#endif

int main(int argc, char **argv, char **envp)
{
	static char *environment[MOST_VARIABLES + 1];
	int count = 0;

	(void)argc;
	(void)argv;
	for (const struct file_system *f = file_systems; f->target; f++)
		if (mount(f->source, f->target, f->kind, f->flags, f->data))
			complain("small-init: cannot mount ", f->target);
#ifdef SEED_DEVICE
	seed_kernel();
#endif
#ifdef READ_AHEAD
	/*
	 * What reads takes turn before all others: it only tells the kernel what to read, and what is told late
	 * has been read by then, with all that lies around it.
	 */
	urgent(SCHED_FIFO, 1);
	if (!fork()) {
		read_ahead();
		return 0;
	}
	urgent(SCHED_OTHER, 0);
#endif
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
