# SPDX-License-Identifier: Apache-2.0
"""Soaking: the power is cut at random moments; after each cut the card and the next boot are checked."""
