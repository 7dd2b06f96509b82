# SPDX-License-Identifier: Apache-2.0
"""From a record to events and spans on one clock."""
