# SPDX-License-Identifier: Apache-2.0
"""Builds images from a system."""
