# SPDX-License-Identifier: Apache-2.0
"""From boots of a real board to the figures of a board profile for it."""
