# SPDX-License-Identifier: Apache-2.0
"""Published figures, the systems that they come from, and our own for comparison."""
