# SPDX-License-Identifier: Apache-2.0
"""Builds and boots on the workers of a Dask cluster; what travels is named by content ids and checked."""
