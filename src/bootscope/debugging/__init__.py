# SPDX-License-Identifier: Apache-2.0
"""Looking into a boot that stands still at a moment."""
