# SPDX-License-Identifier: Apache-2.0
"""Statistics of repeated boots, in pure Python: small samples with skewed distributions."""
