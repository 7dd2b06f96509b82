# SPDX-License-Identifier: Apache-2.0
"""Pictures of boots for other people's documents: SVG, PNG, PDF, Markdown with a picture."""
