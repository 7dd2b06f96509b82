# SPDX-License-Identifier: Apache-2.0
"""Boards: devices that can be switched on and watched."""
