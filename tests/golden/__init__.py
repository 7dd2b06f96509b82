# SPDX-License-Identifier: Apache-2.0
"""Figures of the reference system that stay as they are to the nanosecond, whatever becomes of the code."""
