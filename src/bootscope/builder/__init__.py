# SPDX-License-Identifier: Apache-2.0
"""Turning a system into images."""
