/* SPDX-License-Identifier: Apache-2.0 */
/* Files of /proc about the machine as a whole, read again and again. */
#ifndef AGENT_LOG_H
#define AGENT_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"

/* A file of /proc that is kept open, and what it said. */
struct log {
	int fd;
	uint64_t due_ns; /* when to read it again */
	struct buf text;
};

/* Adds a block when it is due: `room` bytes of the file at most, or its first line. The costlier the kernel makes its
 * text, the less often; `own_pid` is whose time tells. */
void log_block(struct log *log, uint32_t own_pid, uint64_t at_ns, size_t room, bool one_line);

#endif
