/* SPDX-License-Identifier: Apache-2.0 */
/* The proc connector (CONFIG_PROC_EVENTS), which tells of processes where there are no perf events. */
#ifndef AGENT_CONNECTOR_H
#define AGENT_CONNECTOR_H

#include <stdbool.h>

#include "netlink.h"

/* False with errno where the kernel has no such thing. */
bool connector_start(struct netlink *n);

void connector_drain(struct netlink *n, struct tasks *t);

/* What a message says: the part of the above that tests can reach. */
void connector_message(struct tasks *t, const char *data, size_t size);

#endif
