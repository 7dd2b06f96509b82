# SPDX-License-Identifier: Apache-2.0
"""Source trees that are configured with Kconfig: their symbols, and which files each symbol brings in."""
