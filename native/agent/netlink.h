/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of the kernel, by netlink. They wait in the socket until the next sample, so none of them wakes the
 * agent up.
 */
#ifndef AGENT_NETLINK_H
#define AGENT_NETLINK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tasks.h"

struct netlink {
	int fd;
	uint64_t lost; /* how often messages found no room */
};

/* A socket that listens; -1 with errno where the kernel has no such protocol. */
int netlink_open(int protocol, uint32_t groups);

/* Waits for messages; the number of bytes of them, or -1. They last until anything else is received. */
ssize_t netlink_receive(int fd, const char **data);

/* Calls `take` with each message's payload, until there are no more. */
void netlink_drain(struct netlink *n, struct tasks *t, uint64_t now_ns,
		   void (*take)(struct tasks *t, const char *data, size_t size, uint64_t now_ns));

#endif
