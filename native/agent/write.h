/* SPDX-License-Identifier: Apache-2.0 */
/* What was collected, as an archive that readers of bootchart's know, with what only the agent knows. */
#ifndef AGENT_WRITE_H
#define AGENT_WRITE_H

#include <stdbool.h>

#include "collect.h"

#define AGENT_VERSION "1"

/* Writes to the first place that takes it, says in the kernel's log which, and returns whether any did. */
bool write_result(struct collector *c);

/* The parts of the archive that are made here, for tests. */
void write_header(const struct collector *c, struct buf *b);
void write_events(const struct collector *c, struct buf *b);
void write_taskstats(const struct collector *c, struct buf *b);

#endif
