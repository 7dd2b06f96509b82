# SPDX-License-Identifier: Apache-2.0
"""Boot loaders: all of bootscope's knowledge about each, one file per boot loader."""
