# SPDX-License-Identifier: Apache-2.0
"""How results are shown."""
