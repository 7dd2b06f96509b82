# SPDX-License-Identifier: Apache-2.0
"""Files of kernel modules, packed and signed as distributions ship them."""

from __future__ import annotations

import lzma
import struct

import pytest

from bootscope.core.errors import UserError
from bootscope.image.module_file import unpacked, unsigned

CODE = b"\x7fELF" + bytes(range(256))
SIGNATURE = b"S" * 400
MARK = b"~Module signature appended~\n"


def signed(length: int = len(SIGNATURE)) -> bytes:
    return CODE + SIGNATURE + struct.pack(">8xI", length) + MARK


def test_a_packed_module_is_unpacked_with_its_signature() -> None:
    assert unpacked("x.ko.xz", lzma.compress(signed())) == signed()
    assert unpacked("x.ko", signed()) == signed()


def test_the_signature_is_taken_off() -> None:
    assert unsigned("x.ko.xz", lzma.compress(signed())) == CODE
    assert unsigned("x.ko", CODE) == CODE


@pytest.mark.parametrize("length", [0, len(CODE) + len(SIGNATURE), 1 << 31])
def test_a_signature_that_lies_about_its_length_is_refused(length: int) -> None:
    with pytest.raises(UserError, match="its signature is damaged"):
        unsigned("x.ko", signed(length))


def test_something_else_is_no_module() -> None:
    with pytest.raises(UserError, match="no kernel module"):
        unpacked("x.ko", b"#!/bin/sh\n")
    with pytest.raises(UserError, match="its signature is damaged"):
        unsigned("x.ko", b"\x7fELF" + MARK)
