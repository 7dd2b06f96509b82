/* SPDX-License-Identifier: Apache-2.0 */
/* What processes use, sample by sample. */
#ifndef AGENT_USAGE_H
#define AGENT_USAGE_H

#include "collect.h"

/* In the sample that is being taken, of all that are due. */
void usage_sample(struct collector *c);

/* Everything that can wait until the end: who is still there, by name, and in the last sample. */
void usage_last(struct collector *c);

#endif
