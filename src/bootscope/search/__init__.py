# SPDX-License-Identifier: Apache-2.0
"""Searches: variants of a system built, booted, judged and kept."""
