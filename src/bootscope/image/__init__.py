# SPDX-License-Identifier: Apache-2.0
"""What a finished kernel image tells of itself, where nobody has the build it came from."""
