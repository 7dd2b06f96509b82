# SPDX-License-Identifier: Apache-2.0
"""What is known of a system: its configuration, files, scripts and boot log."""
