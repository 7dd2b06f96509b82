# SPDX-License-Identifier: Apache-2.0
"""The emulated board: QEMU, the configuration of its plugin, and recording its boots."""
