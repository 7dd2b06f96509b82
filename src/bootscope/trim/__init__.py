# SPDX-License-Identifier: Apache-2.0
"""Leaving out of kernel, boot loader and user land what a boot does not run."""
