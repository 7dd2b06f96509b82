/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The watch file: what to look at on this board. One item a line, '#' starts a comment. Numbers
 * are decimal or 0x hexadecimal, times are nanoseconds of the virtual clock. The items are described where
 * they are read:
 *
 *   watch_machine.h   the CPU and its clock
 *   watch_device.h    devices; watch_port.h: by I/O ports; watch_flash.h: flash that is read as memory
 *   watch_paced.h     devices that take their time
 *   watch_hook.h      what to report when a program gets to an address
 *   watch_screen.h    pictures in memory
 *   watch_sample.h    samples, stacks, and the count of which code runs
 *   watch_timing.h    the counting pass; watch_classes.h: classes of instructions for it
 *   watch_end.h       when the recording ends
 */
#ifndef BOOTSCOPE_WATCH_H
#define BOOTSCOPE_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "branches.h"
#include "caches.h"
#include "capture.h"
#include "hierarchy.h"

#define BS_MAX_IO 16
#define BS_REGION_BYTES 64
#define BS_MAX_TEXT 32
#define BS_MAX_TEXT_BYTES 120
#define BS_MAX_CODE 8
#define BS_MAX_IDLE 8
#define BS_MAX_CAPTURE 6
#define BS_MAX_TRANSFER 16
#define BS_MAX_PREFIX 16
#define BS_MAX_REPEAT 4
#define BS_MAX_CONDITIONS 16
#define BS_MAX_TESTS 4
#define BS_MAX_STACK_BYTES 4096
#define BS_PATH_BYTES 1024
#define BS_MAX_HAS 4
#define BS_MAX_CONTROL 4
#define BS_MAX_PARTS 32
#define BS_MAX_CLASSES 64
#define BS_MAX_FIELDS 3
#define BS_MAX_WINDOWS 4
#define BS_MAX_PACED 2
#define BS_MAX_FIFO 4096

struct bs_range {
	uint64_t start, end;
};

struct bs_io {
	uint32_t id;
	uint64_t start, end;
	bool disk;
};

/* A device that takes its time: watch_paced.h. */
struct bs_paced {
	bool (*start)(const struct bs_paced *p);
	const struct bs_io *io;
	/* a serial port */
	uint32_t register_bytes, clock_hz, fifo_bytes;
	int64_t byte_ns;
	/* a card's controller */
	bool has_mix_ctrl;
	uint64_t bytes_per_s;
	int64_t latency_ns;
};

struct bs_window {
	uint32_t hook;
	struct bs_range range;
};

/* Flash that is read as memory. */
struct bs_flash {
	const struct bs_io *io; /* NULL: there is none */
	uint64_t bus_bytes, uncached;
	bool cached, switched, has_second, second_on;
	struct bs_cache code, data, second;
	uint64_t second_control, second_bit; /* it is on while what was stored there last has the bit */
	struct bs_window windows[BS_MAX_WINDOWS];
	size_t n_windows;
	char region[BS_REGION_BYTES];
};

/* An instruction that outputs to a port, or reads from one. */
struct bs_transfer {
	uint8_t opcode, bytes;
	bool reads, in_memory;
	uint8_t port, value, count; /* registers; BS_NO_REGISTER: the port is behind the opcode */
	uint8_t repeat_prefix, narrow_prefix, narrow_bytes;
};

struct bs_text {
	uint32_t id, io;
	uint64_t offset;
	uint8_t bytes[BS_MAX_TEXT_BYTES];
	size_t size;
	uint8_t seen[BS_MAX_TEXT_BYTES]; /* ring of the bytes last stored */
	size_t seen_at, seen_total;
	bool stop;
};

enum bs_text_kind { BS_NO_TEXT, BS_STR, BS_ARGS, BS_PATH };

enum bs_value_kind { BS_NONE, BS_REG, BS_WORD, BS_INT };

struct bs_value {
	enum bs_value_kind kind;
	struct bs_chain chain;
};

/* Holds when the flags are `value` under `mask` in one of its tests. */
struct bs_condition {
	struct {
		uint64_t mask, value;
	} test[BS_MAX_TESTS];
	size_t n;
};

struct bs_hook {
	uint32_t id;
	uint64_t vaddr;
	bool once, done, stop, stack, moves, unseen, routine, stage, over, frame;
	uint32_t return_id; /* 0: nobody asks when it returns */
	uint8_t result;	    /* register, of what it returns */
	const struct bs_condition *when; /* NULL: always */
	uint8_t if_reg; /* BS_NO_REGISTER: whatever registers hold */
	uint64_t if_value;
	struct bs_value values[BS_MAX_CAPTURE];
	size_t n_values;
	enum bs_text_kind text;
	struct bs_chain text_at;
	int32_t name_at, parent_at; /* for BS_PATH */
	uint8_t *only;		    /* the only text that counts, or NULL */
	size_t only_size;
	bool bytes; /* of bytes_at, as many as the integer at size_at says */
	struct bs_chain bytes_at, size_at;
	struct {
		uint8_t *bytes;
		size_t size;
	} has[BS_MAX_HAS];
	size_t n_has;
};

struct bs_stack {
	int64_t period_ns;
	uint32_t bytes;
};

struct bs_frame {
	bool used, stop;
	uint32_t id;
	uint64_t start, size;
	uint32_t cell;
	bool waits; /* for the hook that it begins with */
	char path[BS_PATH_BYTES];
};

struct bs_light {
	bool used, stop;
	uint32_t id;
	uint64_t start, size;
	uint32_t cell;
	uint64_t colour;
};

struct bs_owner {
	uint32_t start_hook, switch_hook; /* 0: nobody was asked for */
	struct bs_chain start, now;
	bool known;
	uint64_t who;
};

struct bs_usage {
	bool used;
	struct bs_owner owner;
	int64_t after_ns;
	char path[BS_PATH_BYTES];
};

struct bs_pause {
	bool used;
	int64_t at_ns;
	char path[BS_PATH_BYTES];
};

struct bs_opcode {
	uint32_t size;
	uint64_t mask, value;
};

enum bs_class_group { BS_GROUP_COSTS, BS_GROUP_LOADS, BS_GROUP_READS };

/* A rule for instructions like `opcode`: classes.h. The first one of a group counts. */
struct bs_class {
	enum bs_class_group group;
	struct bs_opcode opcode;
	uint32_t count; /* of BS_GROUP_COSTS; BS_COUNTS: none */
	uint64_t list;	/* of BS_MORE_REGISTERS: a bit for each register */
	bool narrow;	/* of BS_GROUP_LOADS */
	struct {
		uint8_t shift, bits;
	} field[BS_MAX_FIELDS]; /* numbers of registers: what is loaded, or read */
	size_t n_fields;
};

enum bs_cache_name { BS_CODE, BS_DATA, BS_SECOND, BS_CODE_TLB, BS_DATA_TLB, BS_CACHES };

/* What is thought of as switched on or off in a part of the counting pass, whatever the software says. */
enum bs_switch { BS_AS_IS, BS_OFF, BS_ON };
struct bs_switched {
	size_t part;
	enum bs_switch data, code;
};

/* What a core takes, where the guest's clock is to pass with it. */
struct bs_price {
	bool used;
	int64_t instruction_ps, event_ps[BS_COUNTS];
};

/* The counting pass: watch_timing.h. */
struct bs_timing {
	bool used, has[BS_CACHES];
	struct bs_price price;
	char path[BS_PATH_BYTES];
	struct bs_range memory;
	struct bs_cache cache[BS_CACHES];
	struct bs_branches branches;
	uint64_t control_bits[3]; /* translates, caches data, caches code */
	uint64_t control_off;	  /* those of them that switch off */
	uint8_t control[BS_MAX_CONTROL]; /* registers */
	size_t n_control;
	struct bs_opcode control_by[BS_MAX_IDLE];
	size_t n_control_by;
	struct bs_opcode clock[BS_MAX_IDLE];
	size_t n_clock;
	uint8_t repeat[BS_MAX_REPEAT];
	size_t n_repeat;
	struct bs_range large[BS_MAX_CODE];
	size_t n_large;
	uint32_t large_shift;
	struct bs_range uncached[BS_MAX_CODE];
	size_t n_uncached;
	uint64_t part[BS_MAX_PARTS];
	size_t n_parts;
	uint64_t split[2]; /* loads, stores: a power of 2; 0: they may lie anywhere */
	bool write_combining; /* stores to what is uncached are combined to lines */
	bool flat_passes;  /* memory that is mapped as it is, is not brought in by stores */
	struct bs_class classes[BS_MAX_CLASSES];
	size_t n_classes;
	struct bs_switched switched[BS_MAX_PARTS + 1];
	size_t n_switched;
};

struct bs_watch {
	uint32_t tick_ns, word_bytes;
	uint64_t mode_bits, segment_bytes;
	uint8_t pc, sp, link, flags; /* registers */
	struct bs_condition conditions[BS_MAX_CONDITIONS];
	struct bs_io io[BS_MAX_IO];
	size_t n_io;
	struct bs_paced paced[BS_MAX_PACED];
	size_t n_paced;
	struct bs_flash flash;
	struct bs_io port[BS_MAX_IO];
	size_t n_port;
	uint64_t port_mask;
	struct bs_range prefix[BS_MAX_PREFIX];
	size_t n_prefix;
	struct bs_transfer transfer[BS_MAX_TRANSFER];
	size_t n_transfer;
	struct bs_range config; /* empty where there is none */
	struct bs_text text[BS_MAX_TEXT];
	size_t n_text;
	struct bs_hook *hooks; /* sorted by vaddr */
	size_t n_hooks;
	bool returns; /* a hook asks when its function returns */
	uint64_t task_stack_bytes;
	struct bs_range code[BS_MAX_CODE];
	size_t n_code;
	struct bs_opcode idle[BS_MAX_IDLE];
	size_t n_idle;
	struct bs_opcode yield[BS_MAX_IDLE];
	size_t n_yield;
	struct bs_opcode call[BS_MAX_IDLE];
	size_t n_call;
	struct bs_range code_return[BS_MAX_CODE];
	size_t n_return;
	struct bs_stack stack;
	uint32_t move_hook; /* 0 when nothing moves */
	uint64_t move_from, moved_by;
	struct bs_frame frame;
	struct bs_light light;
	struct bs_usage usage;
	struct bs_pause pause;
	struct bs_timing timing;
	int64_t sample_ns, limit_ns, quiet_ns, quantum_ns;
	uint32_t quiet_hook; /* from which on quiet_later_ns is meant; 0 for none */
	int64_t quiet_later_ns;
};

/* Reads the file into w. On an error says which line on stderr and returns false. */
bool bs_watch_load(struct bs_watch *w, const char *path);

/* The first hook at vaddr, or NULL; *n tells how many follow at the same address. */
struct bs_hook *bs_watch_hooks_at(struct bs_watch *w, uint64_t vaddr, size_t *n);

#endif
