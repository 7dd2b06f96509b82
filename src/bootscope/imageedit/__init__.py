# SPDX-License-Identifier: Apache-2.0
"""Prebuilt images as systems: what is known of them, and changes to copies of them."""
