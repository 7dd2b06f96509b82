# SPDX-License-Identifier: Apache-2.0
"""Stored runs, whatever made them: their figures, boots and milestones."""
