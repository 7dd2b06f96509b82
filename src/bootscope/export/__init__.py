# SPDX-License-Identifier: Apache-2.0
"""A trace as the files that other programs open: one module per format; `registry` lists them."""
