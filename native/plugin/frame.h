/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A picture in guest memory: which of its cells have been stored to since the last whole one.
 */
#ifndef BOOTSCOPE_FRAME_H
#define BOOTSCOPE_FRAME_H

#include "watch.h"

enum bs_frame_news { BS_FRAME_NOTHING, BS_FRAME_TOUCHED, BS_FRAME_WHOLE };

bool bs_frame_init(const struct bs_frame *frame);

/*
 * A store of `size` bytes at offset bytes into the picture. TOUCHED is the first store of a frame,
 * WHOLE the one that completes it (the next store then begins the next frame). A one-cell picture
 * is whole at once.
 */
enum bs_frame_news bs_frame_store(uint64_t offset, uint64_t size);

/* Writes the picture at guest virtual address vaddr to frame->path, by rename. */
bool bs_frame_copy(const struct bs_frame *frame, uint64_t vaddr);

#endif
