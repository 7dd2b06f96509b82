/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two sources that the kernel sends messages of: the proc connector (CONFIG_PROC_EVENTS), where there
 * are no perf events, and taskstats (CONFIG_TASKSTATS), which accounts each process at its end.
 *
 * Messages wait in the socket until the next sample, so none of them wakes the agent up.
 */
#ifndef AGENT_NETLINK_H
#define AGENT_NETLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tasks.h"

struct netlink {
	int fd;
	uint64_t lost; /* how often messages found no room */
};

/* All return false with errno where the kernel has no such thing. */
bool connector_start(struct netlink *n);
bool taskstats_start(struct netlink *n);

void connector_drain(struct netlink *n, struct tasks *t);
/* Accounts come after the events of their processes: drain those first. `now_ns` is the moment of an end
 * that nothing else has told of. */
void taskstats_drain(struct netlink *n, struct tasks *t, uint64_t now_ns);

/* What a message says: the parts of the above that tests can reach. */
void connector_message(struct tasks *t, const char *data, size_t size);
void taskstats_message(struct tasks *t, const char *data, size_t size, uint64_t now_ns);

#endif
