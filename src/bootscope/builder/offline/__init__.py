# SPDX-License-Identifier: Apache-2.0
"""What packages do when they are installed, applied to their files instead: none of their programs runs."""
