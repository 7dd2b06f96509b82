# SPDX-License-Identifier: Apache-2.0
"""bootscope: measures, explains and shrinks the boot time of Linux devices."""

__version__ = "0.1.0"
