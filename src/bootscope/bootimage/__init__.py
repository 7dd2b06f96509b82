# SPDX-License-Identifier: Apache-2.0
"""Images that users have built already: their content, and how they boot.

Nothing in an image is run, mounted or written to. Disks are read by offsets, never as a whole.
"""
