# SPDX-License-Identifier: Apache-2.0
"""Sends the result of a check to servers: comments on GitHub and GitLab, webhooks."""
