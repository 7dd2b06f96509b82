# SPDX-License-Identifier: Apache-2.0
"""What other build systems make: read into bootscope, and changes written back as their users write them."""
