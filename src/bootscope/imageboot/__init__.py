# SPDX-License-Identifier: Apache-2.0
"""Booting images that are built already: what the board is given of them, what is watched, how it ends."""
