/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Included last: makes decompressors read words byte by byte, as an ARM9 must. */
#undef CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS
