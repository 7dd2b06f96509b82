# SPDX-License-Identifier: Apache-2.0
"""Published figures, the systems that they are of, and our own beside them."""
