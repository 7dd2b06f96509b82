# SPDX-License-Identifier: Apache-2.0
"""Processor cores and their memory, as data (cores.d/): the costs of instructions and memory accesses."""
