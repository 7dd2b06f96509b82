# SPDX-License-Identifier: Apache-2.0
"""Which commit of a source tree, or which symbol, package or file makes a boot slower or breaks it: found by
building and booting as few combinations as possible."""
