# SPDX-License-Identifier: Apache-2.0
"""Reading what people already have: logs and traces of other tools."""
