/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lines of the watch file about I/O ports (ports.h); each function returns false for a line that is not
 * understood.
 *
 *   port ID FIRST SIZE                     record every output to these I/O ports
 *   ports MASK                             the bits of a register that are the number of a port
 *   prefix FIRST LAST                      such bytes may stand before an opcode (repeatable)
 *   output OPCODE BYTES PORT VALUE         an instruction with this opcode gives the low BYTES of register
 *                                          VALUE to the port in register PORT, or with `next` for PORT, to
 *                                          that in the byte behind the opcode (repeatable)
 *   outputs OPCODE BYTES PORT ADDRESS COUNT REPEAT
 *                                          the same with what is in memory where register ADDRESS points;
 *                                          behind the prefix REPEAT unless register COUNT holds 0
 *                                          Both may go on with PREFIX BYTES: so many behind this prefix
 *   input OPCODE PORT                      an instruction with this opcode reads from a port, named as for
 *                                          `output`; the counting pass alone asks for it (repeatable)
 *   inputs OPCODE PORT COUNT REPEAT        the same, as for `outputs`
 */
#ifndef BOOTSCOPE_WATCH_PORT_H
#define BOOTSCOPE_WATCH_PORT_H

#include "watch.h"
#include "watch_line.h"

bool bs_watch_add_port(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_set_ports(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_prefix(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_output(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_outputs(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_input(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_inputs(struct bs_watch *w, const struct bs_line *l);

#endif
