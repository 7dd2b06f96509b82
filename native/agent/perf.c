// SPDX-License-Identifier: Apache-2.0
#include "perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Room for some 200 processes a CPU; half of them wake the collector up. */
enum { RING_PAGES = 8, WAKE_BYTES = 16384 };

static size_t page_bytes(void)
{
	return (size_t)getauxval(AT_PAGESZ);
}

/* Everything of process ends, starts and names on one CPU; nothing is counted or sampled. */
static int open_event(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.task = 1,
		.comm = 1,
		.comm_exec = 1,
		.watermark = 1,
		.wakeup_watermark = WAKE_BYTES,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

bool perf_start(struct perf *p)
{
	size_t bytes = (RING_PAGES + 1) * page_bytes();

	*p = (struct perf){0};
	for (int cpu = 0; cpu < PERF_CPUS; cpu++) {
		int fd = open_event(cpu);

		/* A CPU that is off now: it is not looked at again. */
		if (fd < 0 && errno == ENODEV)
			continue;
		if (fd < 0)
			break;
		void *ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (ring == MAP_FAILED) {
			close(fd);
			perf_stop(p);
			return false;
		}
		p->rings[p->count] = ring;
		p->fds[p->count++] = fd;
	}
	return p->count > 0;
}

void perf_wait(const struct perf *p, uint64_t ns)
{
	struct pollfd fds[PERF_CPUS];
	struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	for (uint32_t i = 0; i < p->count; i++)
		fds[i] = (struct pollfd){.fd = p->fds[i], .events = POLLIN};
	ppoll(fds, p->count, &t, NULL);
}

LATE void perf_stop(struct perf *p)
{
	for (uint32_t i = 0; i < p->count; i++) {
		munmap(p->rings[i], (RING_PAGES + 1) * page_bytes());
		close(p->fds[i]);
	}
	p->count = 0;
}

static uint32_t u32_at(const char *data)
{
	uint32_t value;

	memcpy(&value, data, sizeof(value));
	return value;
}

static uint64_t u64_at(const char *data)
{
	uint64_t value;

	memcpy(&value, data, sizeof(value));
	return value;
}

/* pid, parent, tid, parent's tid, time: both records look alike. */
static void fork_or_exit(struct tasks *t, bool fork, const char *body, size_t size)
{
	if (size < 24)
		return;
	uint32_t pid = u32_at(body), tid = u32_at(body + 8);
	struct event event = {
		.ns = u64_at(body + 16),
		.pid = pid,
		.other = fork ? u32_at(body + 4) : UINT32_MAX,
		.kind = fork ? EV_FORK : EV_EXIT,
	};

	if (pid != tid) {
		t->threads += fork;
		return;
	}
	if (!fork)
		event.spent.cpu_ns = event.spent.io_ns = UNKNOWN;
	tasks_event(t, &event);
}

/* pid, tid, name (padded to 8 bytes), then what sample_id_all puts behind each record: pid, tid, time. */
static void comm(struct tasks *t, bool exec, const char *body, size_t size)
{
	if (size < 8 + 8 + 16 || u32_at(body) != u32_at(body + 4))
		return;
	struct event event = {
		.ns = u64_at(body + size - 8),
		.pid = u32_at(body),
		.kind = exec ? EV_EXEC : EV_NAME,
	};
	size_t room = size - 8 - 16;

	for (size_t i = 0; i < room && i < TASK_NAME - 1 && body[8 + i]; i++)
		event.name[i] = body[8 + i];
	tasks_event(t, &event);
}

void perf_records(struct perf *p, struct tasks *t, const char *data, size_t size)
{
	struct perf_event_header head;

	for (; size >= sizeof(head); data += head.size, size -= head.size) {
		memcpy(&head, data, sizeof(head));
		if (head.size < sizeof(head) || head.size > size)
			return;
		const char *body = data + sizeof(head);
		size_t body_size = head.size - sizeof(head);

		if (head.type == PERF_RECORD_FORK || head.type == PERF_RECORD_EXIT)
			fork_or_exit(t, head.type == PERF_RECORD_FORK, body, body_size);
		else if (head.type == PERF_RECORD_COMM)
			comm(t, head.misc & PERF_RECORD_MISC_COMM_EXEC, body, body_size);
		else if (head.type == PERF_RECORD_LOST && body_size >= 16)
			p->lost += u64_at(body + 8);
	}
}

static void drain_ring(struct perf *p, struct tasks *t, char *ring)
{
	struct perf_event_mmap_page *page = (void *)ring;
	size_t bytes = RING_PAGES * page_bytes();
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), tail = page->data_tail;
	const char *data = ring + page_bytes();

	if (head == tail)
		return;
	size_t from = tail % bytes, size = (size_t)(head - tail);
	if (from + size <= bytes) {
		perf_records(p, t, data + from, size);
	} else {
		/* The record at the border is in two pieces. */
		static char whole[RING_PAGES * 65536];

		if (size <= sizeof(whole)) {
			memcpy(whole, data + from, bytes - from);
			memcpy(whole + (bytes - from), data, size - (bytes - from));
			perf_records(p, t, whole, size);
		}
	}
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
}

void perf_drain(struct perf *p, struct tasks *t)
{
	for (uint32_t i = 0; i < p->count; i++)
		drain_ring(p, t, p->rings[i]);
}
