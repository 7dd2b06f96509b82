// SPDX-License-Identifier: Apache-2.0
/*
 * Tests of the collector's parts. `check` runs those that end in right or wrong; `check pack` and `check
 * send` write what the Python tests then read.
 */
#include <fcntl.h>
#include <linux/connector.h>
#include <linux/perf_event.h>
#include <linux/taskstats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../buf.h"
#include "../cards.h"
#include "../connector.h"
#include "../options.h"
#include "../pack.h"
#include "../perf.h"
#include "../proc.h"
#include "../send.h"
#include "../tasks.h"
#include "../taskstats.h"

static int failed;

#define CHECK(what)                                                                   \
	do {                                                                          \
		if (!(what)) {                                                        \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
			failed = 1;                                                   \
		}                                                                     \
	} while (0)

/* ---- buf ---- */

static void check_buf(void)
{
	struct buf b = {0};
	char digits[24];
	uint64_t value;

	buf_left = 1 << 20;
	for (uint64_t i = 0; i < 20000; i++)
		buf_num(&b, i);
	CHECK(b.used == 10 + 180 + 2700 + 36000 + 50000 && !b.cut);
	CHECK(buf_left < 1 << 20);
	buf_free(&b);
	CHECK(buf_left == 1 << 20 && !b.data);

	/* Nothing is kept by halves, and what was kept stays. */
	static char big[700000];
	CHECK(buf_add(&b, big, sizeof(big)) && !buf_add(&b, big, sizeof(big)));
	CHECK(b.cut && b.used == sizeof(big));
	CHECK(!buf_reserve(&b, SIZE_MAX));
	buf_free(&b);
	buf_left = SIZE_MAX;

	CHECK(text_put(digits, UINT64_MAX) == 20 && !memcmp(digits, "18446744073709551615", 20));
	CHECK(text_put(digits, 0) == 1 && digits[0] == '0');
	CHECK(text_whole("60", 60, &value) && value == 60);
	CHECK(!text_whole("61", 60, &value) && !text_whole("", 60, &value) && !text_whole("6x", 60, &value));
	CHECK(!text_whole("-1", 60, &value) && !text_whole("9999999999999999999", UINT64_MAX, &value));
	CHECK(text_has("abc", 3, "bc") && !text_has("abc", 2, "bc") && !text_has("", 0, "x"));
}

/* ---- options ---- */

static void check_arguments(void)
{
	struct options o;
	const char *which;
	char *good[] = {"x", "--stop-process", "testcard", "-o", "/x.tgz", "--period=50", "--no-trace", NULL};
	char *const wrong[][4] = {
		{"x", "--period", "0", NULL},	     {"x", "--period", "60001", NULL}, {"x", "--period", NULL, NULL},
		{"x", "--sources", "tea", NULL},     {"x", "word", NULL, NULL},	       {"x", "--wrong", "1", NULL},
		{"x", "--stop-process=", NULL, NULL}, {"x", "--stop-after", "1s", NULL},
	};

	options_init(&o);
	CHECK(!options_arguments(&o, 7, good, &which));
	CHECK(!strcmp(o.stop_process, "testcard") && !strcmp(o.output, "/x.tgz"));
	CHECK(o.period_ms == 50 && !o.trace && o.stop_after_ms == 60000);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		int count = 0;

		while (count < 4 && wrong[i][count])
			count++;
		options_init(&o);
		CHECK(options_arguments(&o, count, (char **)wrong[i], &which));
		CHECK(!strncmp(which, wrong[i][1], strlen(which)));
	}
}

static void check_command_line(void)
{
	struct options o;
	char line[] = "console=ttyS0 bootscope.stop-process=a bootscope.stop-message=\"two words\" "
		      "\"bootscope.stop-file=/a b\" bootscope.period=no bootscope.nonsense xbootscope.linger=1 "
		      "bootscope.stop-after=7\n";

	options_init(&o);
	CHECK(options_command_line(&o, line) == 2);
	CHECK(!strcmp(o.stop_process, "a") && !strcmp(o.stop_message, "two words"));
	CHECK(!strcmp(o.stop_file, "/a b") && o.stop_after_ms == 7000);
	CHECK(o.period_ms == 200 && o.linger_ms == 1000);
	char open[] = "bootscope.stop-file=\"/never closed";
	CHECK(!options_command_line(&o, open) && !strcmp(o.stop_file, "/never closed"));
}

/* ---- /proc ---- */

static void check_proc(void)
{
	static const char line[] = "77 (a) b (c) R 76 1 1 0 -1 4194560 5 0 0 0 11 22 0 0 20 0 1 0 99 0 0\n";
	static const char thread[] = "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 5 0 0 20 0 1 0 1 0 0";
	struct proc_stat s;

	CHECK(proc_parse(line, sizeof(line) - 1, &s));
	CHECK(s.pid == 77 && s.ppid == 76 && !s.kernel && s.start_ns == 990000000);
	CHECK(!strcmp(s.name, "a) b (c"));
	for (size_t n = 0; n < sizeof(line) - 10; n++) {
		char *part = malloc(n + 1); /* of that very size, so that reading behind it is seen */

		memcpy(part, line, n);
		if (proc_parse(part, n, &s))
			CHECK(n > 60);
		free(part);
	}
	CHECK(proc_parse(thread, sizeof(thread) - 1, &s) && s.kernel);
	CHECK(proc_last_pid("0.00 0.01 0.05 1/123 4567\n", 26) == 4567 && !proc_last_pid("", 0));
	CHECK(proc_cpu_ns((uint32_t)getpid()) != UNKNOWN && proc_cpu_ns(4194303) == UNKNOWN);
}

/* ---- tasks ---- */

static struct event event_of(uint64_t ns, uint32_t kind, uint32_t pid, uint32_t other, const char *name)
{
	struct event e = {.ns = ns, .kind = kind, .pid = pid, .other = other};

	if (kind == EV_EXIT)
		e.spent.cpu_ns = e.spent.io_ns = UNKNOWN;
	else
		strncpy(e.name, name, TASK_NAME - 1);
	return e;
}

static void check_tasks(void)
{
	struct tasks t;
	/* As two CPUs tell it: each in order, both together not. */
	const struct event told[] = {
		event_of(10, EV_FORK, 5, 1, ""), event_of(30, EV_EXIT, 5, 0, ""), event_of(40, EV_FORK, 5, 1, ""),
		event_of(20, EV_EXEC, 5, 0, "ls"), event_of(45, EV_EXEC, 5, 0, ""),
	};

	CHECK(tasks_init(&t));
	for (size_t i = 0; i < sizeof(told) / sizeof(*told); i++)
		CHECK(tasks_event(&t, &told[i]));
	tasks_apply(&t, 0);
	CHECK(tasks_count(&t) == 2);
	CHECK(!tasks_at(&t, 0)->live && !strcmp(tasks_at(&t, 0)->name, "ls"));
	CHECK(tasks_find(&t, 5) == tasks_at(&t, 1) && tasks_at(&t, 1)->live && tasks_at(&t, 1)->rename);
	CHECK(!tasks_find(&t, 6));
	tasks_account(&t, 6, 1, 1);
	tasks_account(&t, 5, 123, 4);
	CHECK(tasks_at(&t, 1)->cpu_ns == 123);

	/* The table grows, and pids come again. */
	for (uint32_t i = 0; i < 20000; i++) {
		struct event fork = event_of(100 + i, EV_FORK, 100 + i * 7 % 9000, 1, "");
		uint32_t from = tasks_events(&t);

		CHECK(tasks_event(&t, &fork));
		tasks_apply(&t, from);
		CHECK(tasks_find(&t, fork.pid)->start_ns == fork.ns);
	}
	CHECK(tasks_count(&t) == 20002);
}

/* ---- perf ---- */

static void check_perf(void)
{
	struct {
		struct perf_event_header head;
		uint32_t pid, ppid, tid, ptid;
		uint64_t time;
		uint32_t own_pid, own_tid;
		uint64_t own_time;
	} fork = {{PERF_RECORD_FORK, 0, sizeof(fork)}, 9, 8, 9, 8, 1000, 8, 8, 1000};
	struct {
		struct perf_event_header head;
		uint32_t pid, tid;
		char name[16];
		uint32_t own_pid, own_tid;
		uint64_t time;
	} comm = {{PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, sizeof(comm)}, 9, 9, "sh", 9, 9, 2000};
	char both[sizeof(fork) + sizeof(comm)];
	struct perf p = {0};
	struct tasks t;

	CHECK(tasks_init(&t));
	memcpy(both, &fork, sizeof(fork));
	memcpy(both + sizeof(fork), &comm, sizeof(comm));
	perf_records(&p, &t, both, sizeof(both));
	CHECK(tasks_events(&t) == 2);
	tasks_apply(&t, 0);
	CHECK(tasks_find(&t, 9)->ppid == 8 && tasks_find(&t, 9)->start_ns == 1000);
	CHECK(!strcmp(tasks_find(&t, 9)->name, "sh"));
	fork.tid = 10;
	perf_records(&p, &t, (char *)&fork, sizeof(fork));
	CHECK(tasks_events(&t) == 2 && t.threads == 1);
	for (size_t n = 0; n < sizeof(both); n++) {
		char *part = malloc(n + 1);

		memcpy(part, both, n);
		perf_records(&p, &t, part, n);
		free(part);
	}
}

/* ---- whatever may come ---- */

static uint32_t seed = 1;

static uint32_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed;
}

/* Half of it looks like what the kernel sends, so that more than the first check is reached. */
static void check_rubbish(void)
{
	struct perf p = {0};
	struct tasks t;

	CHECK(tasks_init(&t));
	for (int round = 0; round < 100000; round++) {
		size_t size = draw() % 700;
		char *data = malloc(size + 1);

		for (size_t i = 0; i < size; i++)
			data[i] = (char)(draw() % 3 ? 0 : draw());
		if (round % 4 == 0 && size >= 8) {
			data[0] = (char)(draw() % 16);
			data[6] = (char)(8 + draw() % 64);
		} else if (round % 4 == 1 && size >= sizeof(struct cn_msg)) {
			data[0] = CN_IDX_PROC;
			data[4] = CN_VAL_PROC;
		} else if (size >= 20) {
			uint16_t outer = (uint16_t)(draw() % (size + 8)), inner = (uint16_t)(draw() % (size + 8));
			memcpy(data + 4, &outer, 2);
			data[6] = (char)(draw() % 6);
			memcpy(data + 8, &inner, 2);
			data[10] = (char)(draw() % 4);
		}
		uint32_t from = tasks_events(&t);
		perf_records(&p, &t, data, size);
		connector_message(&t, data, size);
		tasks_apply(&t, from);
		taskstats_message(&t, data, size, 5);
		struct proc_stat s;
		proc_parse(data, size, &s);
		proc_last_pid(data, size);
		free(data);
	}
}

/* ---- what Python reads ---- */

static bool to_stdout(void *to, const uint8_t *data, size_t size)
{
	(void)to;
	return fwrite(data, 1, size, stdout) == size;
}

/* Standard input, cut into files of growing size, as an archive. */
static int pack_input(void)
{
	static struct pack p;
	static char data[1 << 20];
	size_t size = fread(data, 1, sizeof(data), stdin), at = 0;
	char name[] = "file-a";

	pack_begin(&p, to_stdout, NULL);
	for (size_t step = 0; at < size; step = step * 3 + 1) {
		size_t n = step < size - at ? step : size - at;

		tar_file(&p, name, data + at, n, 1700000000);
		name[5]++;
		at += n;
	}
	tar_end(&p);
	return !pack_end(&p);
}

static int send_input(void)
{
	static struct send s;
	static uint8_t data[1 << 20];
	size_t size = fread(data, 1, sizeof(data), stdin);

	send_begin(&s, 1, "x.tgz");
	/* In pieces that have nothing to do with lines. */
	for (size_t at = 0; at < size; at += 100)
		send_put(&s, data + at, size - at < 100 ? size - at : 100);
	return !send_end(&s);
}

/* What is told of the cards in a folder like /sys/bus/mmc/devices. */
static int cards_of(const char *folder)
{
	struct buf b = {0};
	int dir = open(folder, O_RDONLY | O_DIRECTORY);

	buf_left = 1 << 20;
	cards_in(dir, &b);
	return b.used && fwrite(b.data, 1, b.used, stdout) != b.used;
}

int main(int argc, char **argv)
{
	if (argc > 2)
		return cards_of(argv[2]);
	if (argc > 1)
		return strcmp(argv[1], "pack") ? send_input() : pack_input();
	check_buf();
	check_arguments();
	check_command_line();
	check_proc();
	check_tasks();
	check_perf();
	check_rubbish();
	return failed;
}
