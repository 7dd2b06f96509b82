# SPDX-License-Identifier: Apache-2.0
"""One try of a reader with arbitrary bytes, for the fuzzer and for the cases that it found."""

from __future__ import annotations

import hashlib
from pathlib import Path

from bootscope.capture.imported import Answers, Raw
from bootscope.core.errors import UserError
from bootscope.importing.files import understand
from bootscope.readers.base import STAMPS, Options, Reader, Reading, Source
from bootscope.readers.source import opened
from bootscope.readers.unpack import Budget

from .fuzzing import check

CRASHERS = Path(__file__).parent / "crashers"
_OPTIONS = (*(Options(stamp) for stamp in STAMPS), Options())


def attempt(reader: Reader, case: bytes) -> list[Reading | UserError]:
    """Recognises and reads `case`: as it is, and as an import would; then joins and shows it.

    Whatever is raised but a UserError is a bug of the reader or of what comes after it.
    """
    source = Source("case", case)
    answers = [_read(reader, source, Options())]
    # Which option is tried depends on the case alone, so that a case found once is found again.
    answers.append(_read(reader, source, _OPTIONS[hashlib.sha256(case).digest()[0] % len(_OPTIONS)]))
    try:
        ready = opened("case", case, Budget()).source
        if ready.data != case or ready.members:
            answers.append(_read(reader, ready, Options()))
        found = understand([Raw("case", case)], Answers(formats={"": reader.name}), strict=False)
        for number in range(1, min(3, found.boots) + 1):
            found.trace(number, lines=False)
    except UserError as error:
        answers.append(error)
    return answers


def _read(reader: Reader, source: Source, options: Options) -> Reading | UserError:
    assert 0 <= reader.sure(source) <= 100
    try:
        reading = reader.read(source, options)
    except UserError as error:
        return error
    check(reading)
    return reading
