# SPDX-License-Identifier: Apache-2.0
"""What takes the time of a boot: one file for each kind of culprit, put together by find.py."""
