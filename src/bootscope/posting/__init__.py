# SPDX-License-Identifier: Apache-2.0
"""Telling servers the result of a check: comments on GitHub and GitLab, webhooks."""
