# SPDX-License-Identifier: Apache-2.0
"""The emulated board: QEMU, what its plugin is told to watch, and recording its boots."""
