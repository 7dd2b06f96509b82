# SPDX-License-Identifier: Apache-2.0
"""The content of a NAND chip: pages with their spare bytes, as the emulator loads them into memory."""
