# SPDX-License-Identifier: Apache-2.0
"""From files that somebody has to boots on one clock."""
