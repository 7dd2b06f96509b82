# SPDX-License-Identifier: Apache-2.0
"""Files of a system that lie about, without a recording: recognised by their content, and what they tell.

Nothing of them is executed, nothing is written outside of a folder of our own, links are not followed.
"""
