# SPDX-License-Identifier: Apache-2.0
"""The record of one boot, and where records are kept."""
