# SPDX-License-Identifier: Apache-2.0
"""The store in a browser: a small server that only reads."""
