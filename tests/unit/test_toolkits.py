# SPDX-License-Identifier: Apache-2.0
"""What graphical programs do at their start that an image or the environment can spare them."""

from __future__ import annotations

from bootscope.capture.store import Store
from bootscope.inventory.indicators import INDICATORS, indicator_evidence

from .known_builders import inventory_of
from .reading_scenes import reading

FONT, LIBRARY = "/usr/share/fonts/truetype/a.ttf", "/usr/lib/arm-linux-gnueabihf/libfontconfig.so.1"
CACHE = "/var/cache/fontconfig/0a-le32d8.cache-9"
LIBINPUT = "/usr/lib/arm-linux-gnueabihf/libinput.so.10.13.0"
PLUGIN = "/usr/lib/arm-linux-gnueabihf/qt5/plugins/platforms/libqlinuxfb.so"


def test_fonts_are_read_where_nothing_is_kept_of_them(store: Store) -> None:
    told = indicator_evidence("fonts-read", reading(store, (FONT, LIBRARY), ((FONT, 0, 8),)))
    assert told == "fonts: 1 read, 32.8 kB; fontconfig has no cache in /var/cache/fontconfig"
    assert indicator_evidence("fonts-read", reading(store, (FONT, LIBRARY), ())) == ""
    assert indicator_evidence("fonts-read", reading(store, (FONT, LIBRARY, CACHE), ((FONT, 0, 8),))) == ""


def test_of_files_alone_it_is_known_whether_there_is_a_cache() -> None:
    sign = INDICATORS["fonts-read"]
    both = {FONT: "file", LIBRARY: "-> libfontconfig.so.1.12"}
    assert sign.otherwise(inventory_of(files=both)) == "fontconfig has no cache in /var/cache/fontconfig"
    assert sign.otherwise(inventory_of(files={**both, CACHE: "file"})) == ""
    assert sign.otherwise(inventory_of(files={FONT: "file"})) == ""
    assert sign.otherwise(inventory_of()) is None


def test_libinput_counts_where_qt_draws_to_a_frame_buffer(store: Store) -> None:
    there = (PLUGIN, LIBINPUT)
    told = indicator_evidence("qt-libinput", reading(store, there, ((PLUGIN, 0, 1), (LIBINPUT, 0, 1))))
    assert told == "Qt's plug-in for frame buffers reads input devices by libinput"
    assert indicator_evidence("qt-libinput", reading(store, there, ((PLUGIN, 0, 1),))) == ""
    assert indicator_evidence("qt-libinput", reading(store, there, ((LIBINPUT, 0, 1),))) == ""
    assert indicator_evidence("qt-libinput", inventory_of(files=dict.fromkeys(there, "file"))) is None
