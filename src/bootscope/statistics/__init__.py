# SPDX-License-Identifier: Apache-2.0
"""Statistics of repeated boots, with what Python has: figures that are small in number and skewed."""
