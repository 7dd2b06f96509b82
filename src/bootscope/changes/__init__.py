# SPDX-License-Identifier: Apache-2.0
"""Techniques as changes of a system: whether they apply, what they change, how they go together."""
