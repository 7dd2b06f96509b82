# SPDX-License-Identifier: Apache-2.0
"""What a machine can see of the pitfalls: one function for each, on what is known of a system."""
