# SPDX-License-Identifier: Apache-2.0
"""One file per verb: parsing and printing only."""
