# SPDX-License-Identifier: Apache-2.0
"""Instruction sets: all of bootscope's knowledge about each, one file per architecture."""
