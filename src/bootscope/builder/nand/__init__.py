# SPDX-License-Identifier: Apache-2.0
"""What is in a NAND chip: pages with their spare bytes, as the emulator puts them into memory."""
