# SPDX-License-Identifier: Apache-2.0
"""What boots, as configuration."""
