# SPDX-License-Identifier: Apache-2.0
"""Pitfalls: what misleads, breaks or costs while a boot is made shorter."""
