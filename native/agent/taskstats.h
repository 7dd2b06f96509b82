/* SPDX-License-Identifier: Apache-2.0 */
/* Taskstats (CONFIG_TASKSTATS), by which the kernel accounts each process at its end. */
#ifndef AGENT_TASKSTATS_H
#define AGENT_TASKSTATS_H

#include <stdbool.h>

#include "netlink.h"

/* False with errno where the kernel has no such thing. */
bool taskstats_start(struct netlink *n);

/* Accounts come after the events of their processes: drain those first. `now_ns` is the moment of an end
 * that nothing else has told of. */
void taskstats_drain(struct netlink *n, struct tasks *t, uint64_t now_ns);

/* What a message says: the part of the above that tests can reach. */
void taskstats_message(struct tasks *t, const char *data, size_t size, uint64_t now_ns);

#endif
