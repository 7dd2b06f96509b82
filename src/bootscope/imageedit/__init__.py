# SPDX-License-Identifier: Apache-2.0
"""Images that are built already as systems: what is known of them, and changes made on copies of them."""
