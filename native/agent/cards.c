// SPDX-License-Identifier: Apache-2.0
#include "cards.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proc.h"

#define DEVICES "bus/mmc/devices"
#define SIZE "/preferred_erase_size"

enum { NAME_MOST = 40 }; /* "mmc0:aaaa" */

/* What getdents64 gives. */
struct entry {
	uint64_t inode, next;
	uint16_t size;
	uint8_t type;
	char name[];
};

LATE static void card(int dir, const char *name, bool *begun, struct buf *b)
{
	char path[NAME_MOST + sizeof(SIZE)], text[24];
	size_t length = strlen(name);

	if (*name == '.' || length > NAME_MOST)
		return;
	memcpy(path, name, length);
	memcpy(path + length, SIZE, sizeof(SIZE));
	ssize_t size = proc_read(dir, path, text, sizeof(text));
	const char *at = text;
	uint64_t bytes = size > 0 ? text_num(&at, text + size) : 0;
	if (!bytes)
		return;
	if (!*begun)
		buf_str(b, "bootscope.card_erase_bytes =");
	*begun = true;
	buf_char(b, ' ');
	buf_str(b, name);
	buf_char(b, '=');
	buf_num(b, bytes);
}

LATE void cards_in(int dir, struct buf *b)
{
	static char entries[1024] __attribute__((aligned(8)));
	bool begun = false;
	long size;

	while ((size = syscall(SYS_getdents64, dir, entries, sizeof(entries))) > 0)
		for (long at = 0; at < size;) {
			const struct entry *entry = (const void *)(entries + at);

			at += entry->size;
			card(dir, entry->name, &begun, b);
		}
	if (begun)
		buf_char(b, '\n');
}

LATE void cards(const struct collector *c, struct buf *b)
{
	int dir = open("/sys/" DEVICES, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0 && c->as_init) {
		int sys = private_mount("sysfs", "/sys");

		if (sys < 0)
			return;
		dir = openat(sys, DEVICES, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(sys);
	}
	if (dir < 0)
		return;
	cards_in(dir, b);
	close(dir);
}
