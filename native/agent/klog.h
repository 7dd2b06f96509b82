/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's log: waiting for a text in it, and all of it at the end. */
#ifndef AGENT_KLOG_H
#define AGENT_KLOG_H

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"

/* Opens the log behind its last line, for klog_has(); -1 with errno. */
int klog_open(void);

/* Whether `text` is in a line that came since it was asked for last. */
bool klog_has(int fd, const char *text);

/* Puts all that the kernel still has behind `b`. */
void klog_all(struct buf *b);

/* Says a line of the agent's own in the kernel's log; `number` is left out when it is negative. */
void klog_say(const char *before, int64_t number, const char *after);

/* The same, but not on the console, unless that shows debugging messages. */
void klog_note(const char *before, int64_t number, const char *after);

/* Keeps the kernel's lines off the console, or lets them onto it again. */
void klog_console(bool on);

#endif
