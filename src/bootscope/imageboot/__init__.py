# SPDX-License-Identifier: Apache-2.0
"""Booting prebuilt images: what the board gets of them, what is watched, how the boot ends."""
