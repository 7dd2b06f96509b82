/* SPDX-License-Identifier: Apache-2.0 */
/* The logs of the archive that are about processes. */
#ifndef AGENT_WRITE_TASKS_H
#define AGENT_WRITE_TASKS_H

#include "collect.h"

void write_events(const struct collector *c, struct buf *b);
void write_taskstats(const struct collector *c, struct buf *b);

/* How programs that are still there were called. */
void write_command_lines(const struct collector *c, struct buf *b);

#endif
