# SPDX-License-Identifier: Apache-2.0
"""Techniques tried on an image that was built elsewhere: on copies of it, which boot."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests import debian_images
from tests.command import Bootscope

pytestmark = [pytest.mark.boot, pytest.mark.long]


def test_a_card_is_audited_tried_and_written_anew(tmp_path: Path) -> None:
    card = debian_images.card(debian_images.parts(tmp_path), tmp_path)
    before = hashlib.sha256(card.read_bytes()).hexdigest()
    bootscope = Bootscope(tmp_path / "store")
    bootscope.json("system", "import", card, "--board", "virt-arm64", "--as", "product")
    audited = bootscope.json("audit", "product")
    made_on = {row["technique"]: row["made_on"] for row in audited["techniques"]}
    assert made_on["kernel-quiet"] == "image"
    assert made_on["app-static-link"] == "build"
    assert any("messages" in row["what"] for row in audited["findings"])

    names = ("kernel-quiet", "initramfs-fast-compression=lz4")
    tried = bootscope.json("try", *names, "--system", "product")
    assert tried["works"]
    assert tried["saving_ns"] > 500_000_000
    assert tried["sizes"].keys() == {"image/initramfs"}

    out = tmp_path / "out"
    written = bootscope.json("apply", *names, "--to", "image", out, "--system", "product")
    assert written["files"] == ["card.img"]
    menu = bootscope.json("image", out / "card.img")
    assert menu["command_line"].split()[-1] == "quiet"
    assert hashlib.sha256(card.read_bytes()).hexdigest() == before
