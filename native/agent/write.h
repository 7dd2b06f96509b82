/* SPDX-License-Identifier: Apache-2.0 */
/* What was collected, as an archive that readers of bootchart's know, with what only the agent knows. */
#ifndef AGENT_WRITE_H
#define AGENT_WRITE_H

#include <stdbool.h>

#include "collect.h"

/* Writes to the first place that takes it, says in the kernel's log which, and returns whether any did. */
bool write_result(struct collector *c);

#endif
