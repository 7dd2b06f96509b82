# SPDX-License-Identifier: Apache-2.0
"""Experiments: a system with a change beside the same system without it, and what came of it."""
