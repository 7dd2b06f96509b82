# SPDX-License-Identifier: Apache-2.0
"""What everything else uses: errors, settings, paths, child processes, figures as text."""
