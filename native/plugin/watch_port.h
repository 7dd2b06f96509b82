/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of the watch file about I/O ports; each returns false for one that is not understood. */
#ifndef BOOTSCOPE_WATCH_PORT_H
#define BOOTSCOPE_WATCH_PORT_H

#include "watch.h"
#include "watch_line.h"

bool bs_watch_add_port(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_set_ports(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_prefix(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_output(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_outputs(struct bs_watch *w, const struct bs_line *l);

#endif
