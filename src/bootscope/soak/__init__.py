# SPDX-License-Identifier: Apache-2.0
"""Soaking: the power is cut at random moments, and each time the card and the next boot are checked."""
