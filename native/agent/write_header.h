/* SPDX-License-Identifier: Apache-2.0 */
/* The header of the archive: the system, how its boot was collected, and what that cost. */
#ifndef AGENT_WRITE_HEADER_H
#define AGENT_WRITE_HEADER_H

#include "collect.h"

#define AGENT_VERSION "1"

void write_header(const struct collector *c, struct buf *b);

#endif
