/* SPDX-License-Identifier: Apache-2.0 */
/* When to stop: what the options say, or a signal. */
#ifndef AGENT_STOP_H
#define AGENT_STOP_H

#include "collect.h"

/* Takes signals for a request to stop from now on. */
void stop_by_signals(void);

/* Whether there was one. */
bool stop_told(void);

/* What there was to wait for, and has come; NULL for nothing. */
const char *stop_reached(const struct collector *c);

#endif
