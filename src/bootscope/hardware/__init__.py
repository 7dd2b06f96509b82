# SPDX-License-Identifier: Apache-2.0
"""Real boards: their console, power, logic analyser and farm; measuring their boots."""
