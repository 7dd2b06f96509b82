# SPDX-License-Identifier: Apache-2.0
"""A picture shown before the application's own, as configuration."""

from __future__ import annotations

from bootscope.core.settings import Setting

PPM, RAW, LZO, DRAWN = "ppm", "raw", "lzo", "drawn"
FORMS = (PPM, RAW, LZO, DRAWN)


class Splash(Setting, frozen=True):
    """A picture for the frame buffer that a build puts at `path` of the root file system.

    `form`: ``ppm`` (three bytes a pixel, as fbsplash reads it), ``raw`` (bytes as in the frame buffer),
    ``lzo`` (the same, compressed), or ``drawn``: a program that draws only what differs from the background.
    The start scripts must show it. With a splash, `first-frame` counts what is drawn from the
    application's start on.
    """

    form: str
    path: str
