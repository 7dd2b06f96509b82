# SPDX-License-Identifier: Apache-2.0
"""What takes the time of a boot, which techniques would shorten it, and what could go wrong."""
