# SPDX-License-Identifier: Apache-2.0
"""From files that a user has to boots on one clock."""
