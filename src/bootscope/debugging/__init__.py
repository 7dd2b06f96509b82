# SPDX-License-Identifier: Apache-2.0
"""Looking into a boot that is stopped at a moment."""
