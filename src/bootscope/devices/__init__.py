# SPDX-License-Identifier: Apache-2.0
"""Devices of emulated boards: all that bootscope knows of each, one file per device."""
