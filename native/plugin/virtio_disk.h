/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A disk of virtio's behind memory-mapped registers. QEMU completes its requests whenever the host gets to
 * them. Here all that the guest has asked for is done before the guest goes on, as it is with cards, and in the
 * order in which it asked, so that two boots are the same; and each request is recorded, as stores behind the last of its registers:
 *
 *   +0   what is wanted: 0 reads, 1 writes, 4 flushes
 *   +8   the first sector
 *   +16  the bytes of data
 *
 * Source: Virtual I/O Device (VIRTIO) 1.2, chapters 2.7, 4.2.2, 4.2.4 and 5.2.6.
 */
#ifndef BOOTSCOPE_VIRTIO_DISK_H
#define BOOTSCOPE_VIRTIO_DISK_H

#include <stdbool.h>
#include <stdint.h>

struct bs_io;

typedef void (*bs_disk_told)(void *udata, uint64_t offset, uint64_t value);

/* Whether this QEMU has what is needed; says what is missing on stderr. */
bool bs_disk_init(void);

/* A store to a register; tells of each request of the disk, and comes back when they are done. */
void bs_disk_stored(uint64_t offset, uint64_t value, uint64_t behind, bs_disk_told tell, void *udata);

#endif
