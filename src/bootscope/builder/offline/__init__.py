# SPDX-License-Identifier: Apache-2.0
"""What packages do as they are installed, done to their files instead: nothing of them is run."""
