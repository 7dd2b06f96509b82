# SPDX-License-Identifier: Apache-2.0
"""What a finished kernel image says about itself, where its build is not available."""
