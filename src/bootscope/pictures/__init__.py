# SPDX-License-Identifier: Apache-2.0
"""Pictures of boots for use in other documents: SVG, PNG, PDF, Markdown with a picture."""
