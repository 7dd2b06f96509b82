# SPDX-License-Identifier: Apache-2.0
"""The tools container: a folder with all tools at fixed versions, in which programs run without root."""
