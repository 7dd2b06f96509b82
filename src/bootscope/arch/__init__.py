# SPDX-License-Identifier: Apache-2.0
"""Instruction sets: all that bootscope knows of each, one file an architecture."""
