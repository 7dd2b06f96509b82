# SPDX-License-Identifier: Apache-2.0
"""Loose files of a system, without a recording: recognised by content, and what they say.

None of them is executed, nothing is written outside our own folder, links are not followed.
"""
