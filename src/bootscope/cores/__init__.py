# SPDX-License-Identifier: Apache-2.0
"""Processor cores and their memory, as data (cores.d/): what instructions and accesses to memory cost."""
