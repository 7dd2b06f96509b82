# SPDX-License-Identifier: Apache-2.0
"""Known ways to save boot time: what each does, when it applies, what it changes, what it has saved."""
