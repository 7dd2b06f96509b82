# SPDX-License-Identifier: Apache-2.0
"""A milestone or phase over many runs: commits or days, where it changed, and by how much."""
