// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <string.h>

#include "buf.h"

#define PREFIX "bootscope."

const char options_help[] LATE_TEXT =
	"usage: bootscope-agent [options]      collect until told to stop, then write\n"
	"       init=/sbin/bootscope-agent     on the kernel's command line: collect, and go on as init;\n"
	"                                      options are then words like bootscope.stop-process=NAME\n"
	"\n"
	"  --stop-process NAME  stop when a program of that name has been started\n"
	"  --stop-file PATH     stop when that file is there\n"
	"  --stop-message TEXT  stop when the kernel's log has a line with that text\n"
	"  --stop-after S       stop after so many seconds at the latest (60)\n"
	"  --linger MS          how long to go on after what was waited for (1000)\n"
	"  -o, --output FILE    where to write (/var/log, /run or /tmp/bootscope-agent.tgz)\n"
	"  --console DEVICE     send it over a serial line, where no file was named or none can be written\n"
	"  --period MS          time between samples (200)\n"
	"  --memory KIB         most memory for what is collected (8192)\n"
	"  --sources WHAT       all, perf, connector (no perf events), proc (samples only)\n"
	"  --no-trace           leave the kernel's trace where it is\n"
	"  --init PATH          with init=: the program that goes on as init\n"
	"  --help, --version\n";

enum kind { TEXT, MS, SECONDS, KIB, FLAG };

struct option {
	const char *name;
	enum kind kind;
	size_t at; /* in struct options */
	uint32_t least, most;
};

#define AT(field) offsetof(struct options, field)

static const struct option table[] = {
	{"init", TEXT, AT(init), 0, 0},
	{"stop-process", TEXT, AT(stop_process), 0, 0},
	{"stop-file", TEXT, AT(stop_file), 0, 0},
	{"stop-message", TEXT, AT(stop_message), 0, 0},
	{"stop-after", SECONDS, AT(stop_after_ms), 1, 86400},
	{"linger", MS, AT(linger_ms), 0, 3600000},
	{"output", TEXT, AT(output), 0, 0},
	{"console", TEXT, AT(console), 0, 0},
	{"period", MS, AT(period_ms), 1, 60000},
	{"memory", KIB, AT(memory_kib), 128, 1048576},
	{"sources", TEXT, AT(sources), 0, 0},
	{"no-trace", FLAG, AT(trace), 0, 0},
};

void options_init(struct options *o)
{
	*o = (struct options){
		.period_ms = 200,
		.stop_after_ms = 60000,
		.linger_ms = 1000,
		.memory_kib = 8192,
		.trace = true,
	};
}

static bool is_source(const char *value)
{
	return !strcmp(value, "all") || !strcmp(value, "perf") || !strcmp(value, "connector") ||
	       !strcmp(value, "proc");
}

const char *options_set(struct options *o, const char *name, size_t name_size, const char *value)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		const struct option *of = &table[i];
		char *field = (char *)o + of->at;
		uint64_t number;

		if (strlen(of->name) != name_size || memcmp(of->name, name, name_size))
			continue;
		if (of->kind == FLAG) {
			*(bool *)field = false;
			return NULL;
		}
		if (!value || !*value)
			return "needs a value";
		if (of->kind == TEXT) {
			if (of->at == AT(sources) && !is_source(value))
				return "is one of all, perf, connector, proc";
			*(const char **)field = value;
			return NULL;
		}
		if (!text_whole(value, of->most, &number) || number < of->least)
			return "is not a number, too small or too large";
		*(uint32_t *)field = (uint32_t)number * (of->kind == SECONDS ? 1000 : 1);
		return NULL;
	}
	return "is not known";
}

LATE const char *options_arguments(struct options *o, int argc, char **argv, const char **which)
{
	for (int i = 1; i < argc; i++) {
		const char *name = argv[i], *value = NULL;

		*which = name;
		if (!strcmp(name, "-o"))
			name = "--output";
		if (strncmp(name, "--", 2))
			return "is not known";
		name += 2;
		size_t size = strcspn(name, "=");
		bool flag = !strcmp(name, "no-trace");
		if (name[size])
			value = name + size + 1;
		else if (!flag && i + 1 < argc)
			value = argv[++i];
		const char *wrong = options_set(o, name, size, value);
		if (wrong)
			return wrong;
	}
	return NULL;
}

/* The end of the word at `at`: spaces between quotes belong to it. */
static char *word_end(char *at)
{
	bool quoted = false;

	for (; *at && (quoted || (*at != ' ' && *at != '\n' && *at != '\t')); at++)
		if (*at == '"')
			quoted = !quoted;
	return at;
}

static void drop_quotes(char *text)
{
	char *to = text;

	for (; *text; text++)
		if (*text != '"')
			*to++ = *text;
	*to = 0;
}

unsigned int options_command_line(struct options *o, char *line)
{
	unsigned int wrong = 0;

	while (*line) {
		char *end = word_end(line), *next = *end ? end + 1 : end;

		*end = 0;
		/* Quotes may stand around the whole word or around the value. */
		drop_quotes(line);
		if (!strncmp(line, PREFIX, strlen(PREFIX))) {
			char *name = line + strlen(PREFIX);
			size_t size = strcspn(name, "=");

			wrong += options_set(o, name, size, name[size] ? name + size + 1 : NULL) != NULL;
		}
		line = next;
	}
	return wrong;
}
