// SPDX-License-Identifier: Apache-2.0
/*
 * What a Linux system does while it boots, collected on the system itself at little cost.
 *
 * As init (init=/sbin/bootscope-agent) it starts the collector beside itself and goes on as the real
 * init. Else it collects in the foreground.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "collect.h"
#include "klog.h"
#include "proc.h"
#include "write.h"
#include "write_header.h"

enum { STACK = 128 * 1024, COMMAND_LINE = 4096, EARLY_BYTES = 20 * 1024, USAGE = 2, FAILED = 3 };

static struct options options;
static struct collector collector;
static unsigned int wrong_words;
static const char *missing;

/* Where the linker has put what runs at the end only (agent.ld), and the beginning of the program. */
extern char agent_late[] __attribute__((weak)), __executable_start[] __attribute__((weak));

/* Keeps the kernel from reading ahead what is not needed while the system boots. */
static void read_no_more(void)
{
	if (agent_late)
		madvise(__executable_start, EARLY_BYTES, MADV_RANDOM);
}

static uint64_t own_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

LATE static void print(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) < 0) {
		/* There is nobody else to tell. */
	}
}

static int collect(void)
{
	missing = collect_start(&collector, &options, collector.as_init);
	if (missing) {
		klog_say("cannot collect: ", -1, missing);
		return FAILED;
	}
	collect_run(&collector);
	return write_result(&collector) ? 0 : FAILED;
}

static int collect_beside(void *unused)
{
	(void)unused;
	/* Not of init's session, and no terminal kept open. */
	setsid();
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	if (wrong_words)
		klog_say("words on the command line that were not understood: ", wrong_words, "");
	_exit(collect());
}

static void as_init(char **argv, char **envp)
{
	static char line[COMMAND_LINE], stack[STACK] __attribute__((aligned(16)));
	const char *const usual[] = {"/sbin/init", "/etc/init", "/bin/init", "/bin/sh"};
	uint64_t before_ns = own_cpu_ns();

	collector.as_init = true;
	collector.proc = proc_open(false);
	if (collector.proc >= 0) {
		ssize_t size = proc_read(collector.proc, "cmdline", line, sizeof(line) - 1);
		line[size > 0 ? size : 0] = 0;
		wrong_words = options_command_line(&options, line);
		/* The memory is shared until init begins, which takes its own: nothing is copied. */
		collector.setup_ns = own_cpu_ns() - before_ns;
		clone(collect_beside, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
	}
	for (size_t i = 0; i < (options.init ? 1 : sizeof(usual) / sizeof(*usual)); i++) {
		const char *path = options.init ? options.init : usual[i];

		argv[0] = (char *)path;
		execve(path, argv, envp);
	}
	print(2, "bootscope-agent: cannot start init: name it by bootscope.init=PATH\n");
	_exit(FAILED);
}

LATE static int as_service(int argc, char **argv)
{
	const char *which = "", *wrong;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help")) {
			print(1, options_help);
			return 0;
		}
		if (!strcmp(argv[i], "--version")) {
			print(1, "bootscope-agent " AGENT_VERSION "\n");
			return 0;
		}
	}
	wrong = options_arguments(&options, argc, argv, &which);
	if (wrong) {
		const char *const parts[] = {"bootscope-agent: ", which, " ", wrong, " (--help tells more)\n"};
		for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
			print(2, parts[i]);
		return USAGE;
	}
	collector.proc = proc_open(true);
	if (collector.proc < 0) {
		print(2, "bootscope-agent: no /proc: not root, or a kernel without PROC_FS\n");
		return FAILED;
	}
	int status = collect();
	if (missing) {
		print(2, "bootscope-agent: cannot collect: ");
		print(2, missing);
		print(2, "\n");
	} else if (status) {
		print(2, "bootscope-agent: nothing could be written to\n");
	}
	return status;
}

int main(int argc, char **argv, char **envp)
{
	read_no_more();
	options_init(&options);
	if (getpid() == 1)
		as_init(argv, envp);
	return as_service(argc, argv);
}
