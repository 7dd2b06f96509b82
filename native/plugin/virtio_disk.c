// SPDX-License-Identifier: GPL-2.0-or-later
#include "virtio_disk.h"

#include <stdio.h>
#include <string.h>

#include "qemu_api.h"

#define MOST_ENTRIES 1024u
#define HEADER_BYTES 16u
#define NEXT 1u
#define INDIRECT 4u

enum reg {
	PAGE_SIZE = 0x28,
	QUEUE = 0x30,
	ENTRIES = 0x38,
	ALIGNMENT = 0x3c,
	PAGE = 0x40,
	NOTIFY = 0x50,
	STATUS = 0x70,
	TABLE_LOW = 0x80,
	TABLE_HIGH = 0x84,
	AVAILABLE_LOW = 0x90,
	AVAILABLE_HIGH = 0x94,
	USED_LOW = 0xa0,
	USED_HIGH = 0xa4,
};

struct entry {
	uint64_t address;
	uint32_t bytes;
	uint16_t flags, next;
};

/* What the ring of requests that are done has of each. */
struct used {
	uint32_t number, bytes;
};

/*
 * A disk has one queue. `table`: of its entries; `available`: the ring in which the guest offers them; `used`:
 * the one in which it is told which are done.
 */
static struct {
	uint64_t page_size, alignment, queue, table, available, used;
	uint32_t entries;
	uint16_t seen;
} disk;

bool bs_disk_init(void)
{
	if (bql_lock_impl && bql_unlock && bdrv_drain_all && cpu_physical_memory_rw)
		return true;
	fputs("bootscope plugin: this QEMU does not let a plugin wait for its disks\n", stderr);
	return false;
}

static void memory_at(uint64_t address, void *data, size_t bytes)
{
	memset(data, 0, bytes);
	cpu_physical_memory_rw(address, data, bytes, false);
}

static struct entry entry_at(uint64_t table, uint32_t number)
{
	struct entry e;

	memory_at(table + (uint64_t)number * sizeof(e), &e, sizeof(e));
	return e;
}

/* The entries of a request lie in the table, or in one of its own: header, data, a byte for the result. */
static uint64_t data_bytes(uint64_t table, struct entry e)
{
	uint64_t total = e.bytes;

	for (uint32_t n = 0; e.flags & NEXT && n < MOST_ENTRIES; n++) {
		e = entry_at(table, e.next);
		total += e.bytes;
	}
	return total > HEADER_BYTES ? total - HEADER_BYTES - 1 : 0;
}

static void tell_request(uint32_t number, uint64_t behind, bs_disk_told tell, void *udata)
{
	uint64_t table = disk.table;
	struct entry e = entry_at(table, number);
	struct {
		uint32_t what, unused;
		uint64_t sector;
	} header;

	if (e.flags & INDIRECT) {
		table = e.address;
		e = entry_at(table, 0);
	}
	memory_at(e.address, &header, sizeof(header));
	tell(udata, behind, header.what);
	tell(udata, behind + 8, header.sector);
	tell(udata, behind + 16, data_bytes(table, e));
}

static uint16_t offered_at(uint16_t place)
{
	uint16_t number;

	memory_at(disk.available + 4 + 2 * (place % disk.entries), &number, sizeof(number));
	return number;
}

static void tell_requests(uint64_t behind, bs_disk_told tell, void *udata)
{
	uint16_t offered[2]; /* flags, and how many there were */

	if (!disk.entries || disk.entries > MOST_ENTRIES || !disk.available)
		return;
	memory_at(disk.available, offered, sizeof(offered));
	for (uint32_t n = 0; disk.seen != offered[1] && n < disk.entries; n++, disk.seen++)
		tell_request(offered_at(disk.seen) % disk.entries, behind, tell, udata);
}

static uint64_t used_at(uint16_t place)
{
	return disk.used + 4 + (place % disk.entries) * sizeof(struct used);
}

/*
 * Several threads of QEMU's work on requests that the guest makes together, and which of them is done first is
 * the host's affair. The guest has not seen yet in which order they were: it gets the one in which it made them.
 * Whatever was asked for before is done, so that both rings begin at the same place.
 */
static void put_in_order(uint16_t first)
{
	static struct used done[MOST_ENTRIES];
	uint16_t now[2]; /* flags, and how many are done */

	if (!disk.entries || disk.entries > MOST_ENTRIES || !disk.used)
		return;
	memory_at(disk.used, now, sizeof(now));
	uint16_t n = (uint16_t)(now[1] - first);
	if (n < 2 || n > disk.entries)
		return;
	for (uint16_t i = 0; i < n; i++)
		memory_at(used_at((uint16_t)(first + i)), &done[i], sizeof(done[i]));
	for (uint16_t i = 0; i < n; i++) {
		uint16_t number = offered_at((uint16_t)(first + i)), k = i;
		while (k < n && done[k].number != number)
			k++;
		if (k == n)
			return; /* not the requests that are known */
		struct used swapped = done[i];
		done[i] = done[k];
		done[k] = swapped;
	}
	for (uint16_t i = 0; i < n; i++)
		cpu_physical_memory_rw(used_at((uint16_t)(first + i)), &done[i], sizeof(done[i]), true);
}

static void put_low(uint64_t *address, uint64_t value)
{
	*address = (*address & ~(uint64_t)UINT32_MAX) | (uint32_t)value;
}

static void put_high(uint64_t *address, uint64_t value)
{
	*address = (uint32_t)*address | value << 32;
}

/* Behind flags, count and numbers of the requests, and one number more. */
static uint64_t behind_available(void)
{
	uint64_t end = disk.available + 4 + 2 * ((uint64_t)disk.entries + 1);

	return (end + disk.alignment - 1) / disk.alignment * disk.alignment;
}

static void set_up(uint64_t offset, uint64_t value)
{
	switch (offset) {
	case PAGE_SIZE:
		disk.page_size = value;
		break;
	case ENTRIES:
		disk.entries = (uint32_t)value;
		break;
	case ALIGNMENT:
		disk.alignment = value;
		break;
	case PAGE:
		disk.table = value * disk.page_size;
		disk.available = value ? disk.table + (uint64_t)disk.entries * sizeof(struct entry) : 0;
		disk.used = value && disk.alignment ? behind_available() : 0;
		break;
	case TABLE_LOW:
		put_low(&disk.table, value);
		break;
	case TABLE_HIGH:
		put_high(&disk.table, value);
		break;
	case AVAILABLE_LOW:
		put_low(&disk.available, value);
		break;
	case AVAILABLE_HIGH:
		put_high(&disk.available, value);
		break;
	case USED_LOW:
		put_low(&disk.used, value);
		break;
	case USED_HIGH:
		put_high(&disk.used, value);
		break;
	}
}

void bs_disk_stored(uint64_t offset, uint64_t value, uint64_t behind, bs_disk_told tell, void *udata)
{
	if (offset == STATUS && !value) {
		/* Reset; the guest's size of pages was told before. */
		disk.queue = disk.table = disk.available = disk.used = disk.entries = disk.seen = 0;
	} else if (offset == QUEUE)
		disk.queue = value;
	else if (offset != NOTIFY && !disk.queue)
		set_up(offset, value);
	if (offset != NOTIFY || value)
		return;
	/* The lock under which QEMU's devices work; its own stores to them take it likewise. */
	bql_lock_impl(__FILE__, __LINE__);
	uint16_t first = disk.seen;
	tell_requests(behind, tell, udata);
	bdrv_drain_all();
	put_in_order(first);
	bql_unlock();
}
