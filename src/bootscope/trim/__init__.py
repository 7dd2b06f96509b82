# SPDX-License-Identifier: Apache-2.0
"""Removes from kernel, boot loader and user land what a boot does not run."""
