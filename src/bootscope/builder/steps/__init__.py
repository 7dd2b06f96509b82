# SPDX-License-Identifier: Apache-2.0
"""The steps that turn a system into images, one file each."""
