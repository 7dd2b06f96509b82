# SPDX-License-Identifier: Apache-2.0
"""Builds and boots on the workers of a Dask cluster; everything sent is named by its content id and
checked."""
