/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes that were seen, and what happened to them, each with its moment.
 *
 * All times are ns of CLOCK_MONOTONIC, which for a boot without suspend is the uptime.
 */
#ifndef AGENT_TASKS_H
#define AGENT_TASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"

#define TASK_NAME 16 /* the kernel's names are cut to 15 bytes */
#define UNKNOWN UINT64_MAX

struct task {
	uint32_t pid, ppid;
	uint64_t start_ns; /* UNKNOWN where nothing told */
	uint64_t cpu_ns;   /* at its last sample, or in all where it has ended and was accounted */
	uint64_t io_ns;	   /* waiting for storage; known from accounts only */
	uint32_t first;	   /* the sample that it was found in */
	uint32_t due;	   /* the sample at which to look at it again */
	uint32_t end;	   /* number of the event of its end, plus one */
	uint32_t listed;   /* the sample that it is listed in last, plus one */
	uint8_t age;	   /* how often its name was looked up, where no source tells of names */
	uint8_t idle;	   /* how often in a row it had done nothing */
	bool live, kernel;
	bool found;  /* no event has told of its beginning */
	bool rename; /* which program it runs now is not known */
	char name[TASK_NAME]; /* empty while not known */
};

enum event_kind { EV_START, EV_FORK, EV_EXEC, EV_NAME, EV_EXIT, EV_GONE };

struct event {
	uint64_t ns;
	uint32_t pid;
	uint32_t other; /* the parent, or the exit code */
	uint32_t kind;
	uint32_t number; /* keeps the order of what happened at one moment */
	union {
		char name[TASK_NAME];
		struct {
			uint64_t cpu_ns, io_ns; /* UNKNOWN where nothing told */
		} spent;
	};
};

/* A process used CPU time between two samples. */
struct spent {
	uint32_t sample, task;
	uint64_t cpu_ns, io_ns;
};

struct tasks {
	struct buf all;	   /* struct task */
	struct buf live;   /* uint32_t, numbers of those */
	struct buf events; /* struct event */
	struct buf spent;  /* struct spent */
	struct buf slots;  /* uint32_t, a hash table of pids: number of the task, plus one */
	uint32_t slot_count;
	uint32_t threads; /* threads that began besides processes */
	uint32_t sample;  /* the one that is being taken */
	bool told;	  /* a source tells of every beginning and end */
};

/* False when there is no memory. */
bool tasks_init(struct tasks *t);

uint32_t tasks_count(const struct tasks *t);
struct task *tasks_at(const struct tasks *t, uint32_t number);

/* The last process that had `pid`, ended or not; NULL for none. */
struct task *tasks_find(const struct tasks *t, uint32_t pid);

/* A process that is there, without an event; NULL when there is no memory. Takes the place of one of
 * the same pid. */
struct task *tasks_add(struct tasks *t, uint32_t pid, uint32_t ppid, uint64_t start_ns);

/* Keeps an event; false when there is no memory. */
bool tasks_event(struct tasks *t, const struct event *event);

/* Makes what events say, from number `from` on, known to the table. They are put into the order of time. */
void tasks_apply(struct tasks *t, uint32_t from);

/* Lists in the current sample what a process has used so far. */
void tasks_list(struct tasks *t, struct task *task);

/* Accounts what an ended process has used. */
void tasks_account(struct tasks *t, uint32_t pid, uint64_t cpu_ns, uint64_t io_ns);

void tasks_set_name(struct task *task, const char *name);

/* The number of events so far. */
uint32_t tasks_events(const struct tasks *t);

#endif
