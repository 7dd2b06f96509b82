# SPDX-License-Identifier: Apache-2.0
"""`[pins]` of a board file, the command that it makes, and what docs/pins.md shows of both."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from bootscope.boards.physical import RealBoard, real_board
from bootscope.boards.pins import FILE, kept_as
from bootscope.core.errors import UserError
from bootscope.hardware.analyser import command
from bootscope.importing.pin_correlation import pin_options as options

from .builders import ROOT

DOCS = (ROOT / "docs" / "pins.md").read_text()


def board(folder: Path, pins: str, rate: int = 115200) -> RealBoard:
    file = folder / "desk.toml"
    file.write_text(f'[console]\nport = "/dev/ttyUSB0"\nrate = {rate}\n{pins}')
    return real_board(str(file))


def blocks(begin: str) -> list[str]:
    """The indented blocks of docs/pins.md that begin so, without their indent."""
    found = re.findall(r"(?m)(?:^    .*\n|^\n(?=    ))+", DOCS)
    plain = [re.sub(r"(?m)^    ", "", text).strip("\n") + "\n" for text in found]
    return [text for text in plain if text.startswith(begin)]


def test_a_driver_makes_a_command_that_dumps_changes(tmp_path: Path) -> None:
    found = board(
        tmp_path, '[pins]\ndriver = "fx2lafw:conn=1.4"\nsamplerate = "2m"\nchannels = ["D0", "D1"]\n'
    )
    assert found.pins
    words = command(found.pins)
    assert words[:5] == ("sigrok-cli", "--driver", "fx2lafw:conn=1.4", "--config", "samplerate=2m")
    assert words[-1] == FILE and "D0,D1" in words and kept_as(found.pins) == "pins.vcd"
    assert options(found.pins, 115200) == {}


def test_names_and_console_become_what_the_readers_are_told(tmp_path: Path) -> None:
    pins = (
        '[pins]\ndriver = "demo"\n[pins.edges]\nD0 = { high = "a", low = "b" }\nD1.low = "c"\n[pins.uart]\n'
    )
    found = board(tmp_path, pins + 'channel = "D2"\n', rate=9600)
    assert found.pins
    assert options(found.pins, 9600) == {"pin": "D0=high:a,D0=low:b,D1=low:c", "uart": "D2:9600"}
    found = board(tmp_path, pins + 'channel = "D2"\nrate = 1500000\ninverted = true\n')
    assert found.pins
    assert options(found.pins, 9600)["uart"] == "D2:1500000:inverted"


@pytest.mark.parametrize(("pins", "words"), [
    ("[pins]\n", "one of driver"),
    ('[pins]\ndriver = "a"\nport = "b"\n', "one of driver"),
    ('[pins]\ndriver = "--evil"\n', "pins.driver"),
    ('[pins]\ndriver = "a"\nsamplerate = "fast"\n', "pins.samplerate"),
    ('[pins]\ndriver = "a"\nsamplerate = "1m --x"\n', "pins.samplerate"),
    ('[pins]\ndriver = "a"\nfile = "../pins.sr"\n', "pins.file"),
    ('[pins]\ndriver = "a"\nfile = "console.tap"\n', "pins.file"),
    ('[pins]\ndriver = "a"\nready_s = -1\n', "pins.ready_s"),
    ('[pins]\nport = "/dev/x"\nrate = 0\n', "pins.rate"),
    ('[pins]\ndriver = "a"\nchannels = ["D0,D1"]\n', "a name without , and ="),
    ('[pins]\ndriver = "a"\n[pins.edges]\n"D=0".high = "x"\n', "a name without , and ="),
    ('[pins]\ndriver = "a"\n[pins.edges]\nD0.high = "x,y"\n', "letters, digits"),
    ('[pins]\ndriver = "a"\n[pins.edges]\nD0.high = "x"\nD1.low = "x"\n', "each name once"),
    ('[pins]\ndriver = "a"\n[pins.edges]\nD0.rising = "x"\n', "unknown key"),
    ('[pins]\ndriver = "a"\n[pins.edges]\nD0.high = "x"\n[pins.uart]\nchannel = "D0"\n', "an edge too"),
    ('[pins]\ndriver = "a"\n[pins.uart]\nchannel = "D0"\nrate = -1\n', "pins.uart.rate"),
])  # fmt: skip
def test_what_cannot_be_is_refused_with_its_key(tmp_path: Path, pins: str, words: str) -> None:
    with pytest.raises(UserError, match=re.escape(words)):
        board(tmp_path, pins)


def test_what_the_docs_show_is_accepted(tmp_path: Path) -> None:
    shown = blocks("[pins]")
    assert len(shown) == 3
    for text in shown:
        assert board(tmp_path, text).pins
    made, written = board(tmp_path, '[pins]\ndriver = "fx2lafw"\n').pins, board(tmp_path, shown[1]).pins
    assert made and written and command(made) == command(written)


def test_the_application_of_the_docs_compiles(tmp_path: Path) -> None:
    (code,) = blocks("#include <fcntl.h>")
    (tmp_path / "ready.c").write_text(code + "int main(void)\n{\n\tmark_ready();\n\treturn 0;\n}\n")
    words = ["gcc", "-Wall", "-Wextra", "-Werror", "-O2", "-o", str(tmp_path / "ready")]
    subprocess.run([*words, str(tmp_path / "ready.c")], check=True)
    subprocess.run([str(tmp_path / "ready")], check=True)  # without that LED it does nothing
