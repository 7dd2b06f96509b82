# SPDX-License-Identifier: Apache-2.0
"""Boot loaders: all that bootscope knows of each, one file a boot loader."""
