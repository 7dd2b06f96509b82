/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes there are, where no source tells of them, by what /proc says. */
#ifndef AGENT_DISCOVER_H
#define AGENT_DISCOVER_H

#include "collect.h"

/* Who is there already. */
void discover_first(struct collector *c);

/* Processes since the last sample. */
void discover_new(struct collector *c);

/* The name of a process, and who began it. */
void discover_name(struct collector *c, struct task *task);
void discover_names(struct collector *c);

#endif
