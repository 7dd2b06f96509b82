# SPDX-License-Identifier: Apache-2.0
"""Budgets and baselines: whether a run is as fast as it has to be, for CI."""
