# SPDX-License-Identifier: Apache-2.0
"""Things that can be switched on and watched."""
