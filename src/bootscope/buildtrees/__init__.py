# SPDX-License-Identifier: Apache-2.0
"""Trees of other build systems: read into bootscope, and changes written back in the form that their users
write."""
