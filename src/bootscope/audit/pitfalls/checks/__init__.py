# SPDX-License-Identifier: Apache-2.0
"""The pitfalls that a machine can detect: one function for each, on what is known of a system."""
