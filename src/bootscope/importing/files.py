# SPDX-License-Identifier: Apache-2.0
"""From files that a user has to boots: recognised, read, joined; for `import`, and to show imports."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path

import msgspec

from bootscope.boards.pins import Pins
from bootscope.capture import tap
from bootscope.capture.imported import Answers, ImportInfo, Raw, raw_files, read_import
from bootscope.capture.measured import END_TEXT, TAP
from bootscope.capture.store import Store
from bootscope.capture.stored import MeasuredRun
from bootscope.core.errors import UserError, printable
from bootscope.importing import pin_correlation
from bootscope.loaders.console import BANNERS
from bootscope.readers import boot_end, registry
from bootscope.readers import kept as kept_readings
from bootscope.readers import source as sources
from bootscope.readers.base import Log, Options, Reader, Reading
from bootscope.readers.conversions import refusal
from bootscope.readers.detect import Guess, recognised, unrecognised
from bootscope.readers.fit import Map
from bootscope.readers.formats.tap import EARLY, LISTENED
from bootscope.readers.join import File, Joined, join
from bootscope.readers.markers import said
from bootscope.readers.source import Opened
from bootscope.readers.trace_of import console_log, console_step_ns, trace_of
from bootscope.readers.unpack import Budget
from bootscope.timeline.trace import Trace

TRACE = "trace"
AT_POWER = "power on"
READ = "pins-read.bin"
"""In a boot's folder: the result of reading its capture of pins."""
_NOTES = ((LISTENED, "listened to"), (EARLY, "not part of this boot:"))
_LOOKED_AT = 50
"""Boots of one import that are examined to choose the one to show."""
_BEGINS = frozenset(("kernel-entry", "kernel-start", *(banner.milestone for banner in BANNERS)))
_ENDS = frozenset((*boot_end.ENDS, "default-target"))
ALL = ""
"""The key in answers that stands for every file."""


@dataclass(frozen=True, slots=True)
class FileRead:
    """A file that was read: its format, how sure that is (`guesses`, the best first; empty when the user
    named the format), and the result. `raw` is the name of the file that contained it."""

    name: str
    raw: str
    size_bytes: int
    reader: Reader
    guesses: tuple[Guess, ...]
    reading: Reading

    @property
    def file(self) -> File:
        """The file in the form that the join takes."""
        return File(self.name, self.reader.name, self.reading)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that is kept but could not be read; `lenient` when it was not named itself (it was in a
    folder)."""

    name: str
    error: UserError
    lenient: bool

    @property
    def why(self) -> str:
        """Why it could not be read."""
        return self.error.message


@dataclass(frozen=True)
class Understood:
    """All that a set of files says."""

    files: tuple[FileRead, ...]
    left_out: tuple[LeftOut, ...]
    joined: Joined
    answers: Answers
    notes: tuple[str, ...] = ()
    """Further remarks about it."""

    @property
    def read(self) -> list[File]:
        """The files in the form that the join took."""
        return [f.file for f in self.files]

    @property
    def boots(self) -> int:
        """How many boots there are; a boot that several files recorded counts once."""
        return len(self.joined.groups)

    def trace(self, number: int, *, lines: bool = True, tracks: bool = True) -> Trace:
        """Boot `number` (from 1) as a trace; without `lines` it has no points for console lines, without
        `tracks` only those of phases."""
        own = [said(name, text) for name, text in self.answers.milestones.items()]
        found = trace_of(self.read, self.joined, number - 1, own, lines=lines, tracks=tracks)
        return replace(found, notes=(*found.notes, *self.notes)) if self.notes else found

    @cached_property
    def shown(self) -> int:
        """The boot (from 1) that is shown by default: the first one whose beginning and end are there, else
        the first one that is more than the rest of a system that shuts down."""
        begun = 0
        for number in range(1, min(self.boots, _LOOKED_AT) + 1 if self.boots > 1 else 1):
            trace = self.trace(number, lines=False)
            names = trace.milestones().keys()
            starts = bool(trace.tables) if not trace.timed else not _BEGINS.isdisjoint(names)
            if starts and not _ENDS.isdisjoint(names):
                return number
            begun = begun or number * starts
        return begun or 1

    def zero(self, number: int) -> str:
        """What time 0 of boot `number` (from 1) is on its clock: AT_POWER, or other words."""
        first = self.joined.groups[number - 1].members[0]
        clock = self.files[first.file].reading.boots[first.boot].clock
        return AT_POWER if clock.at_power else clock.zero

    def log(self, number: int, other_ns: int = 0) -> tuple[Log, Map]:
        """The log that describes boot `number` (from 1) best, and the map from its stamps to the clock of the
        boot's files, or to that of a trace with this `other_ns`."""
        return console_log(self.read, self.joined.groups[number - 1], other_ns)

    def step_ns(self, number: int) -> int:
        """The resolution of that log's clock, in ns."""
        return console_step_ns(self.read, self.joined.groups[number - 1])

    def logs(self) -> list[list[Log]]:
        """The logs of each boot that have lines, in all files that recorded it."""
        found = (
            [self.files[m.file].reading.boots[m.boot].log for m in group.members]
            for group in self.joined.groups
        )
        return [[log for log in logs if len(log)] for logs in found]


def of_run(store: Store, run_id: str) -> tuple[ImportInfo, Understood]:
    """An imported run, read again. Raises UserError when its files are damaged."""
    path = store.runs / run_id
    info = read_import(path)
    # What was imported stays readable, even if a newer reader rejects one of the files.
    return info, understand(raw_files(path, info), info.answers, strict=False)


def of_boot(run: MeasuredRun, number: int) -> Understood:
    """Boot `number` (from 1) of a real board, with everything that was captured of it, as one boot.

    Raises UserError when its capture is missing or damaged.
    """
    board, folder = run.info.board, run.path / "boots" / f"{number:03}"
    names = {name: milestone.console for name, milestone in board.milestones.items()}
    if run.info.end_text:
        names[END_TEXT] = run.info.end_text
    names |= run.info.milestones
    try:
        raw = Raw(TAP, (folder / TAP).read_bytes())
    except OSError as error:
        raise UserError(f"boot {run.info.run_id}/{number:03} has no capture: {error.strerror}") from error
    console = understand([raw], Answers(milestones=names), strict=False)
    facts = [boot.facts for boot in console.files[0].reading.boots]
    notes = tuple(f"{words} {each[fact]}" for fact, words in _NOTES for each in facts if fact in each)
    console = replace(console, notes=notes)
    return _with_pins(console, folder, board.pins, board.console.rate) if board.pins else console


def _with_pins(console: Understood, folder: Path, pins: Pins, rate: int) -> Understood:
    """A boot of a real board with the logic analyser's capture, as far as that can be read."""
    kept = pin_correlation.kept_pins(folder)
    notes, seen = (*console.notes, *kept.notes), None
    for values in (pin_correlation.pin_options(pins, rate), {}) if kept.data else ():
        try:
            seen = read_once(Raw(kept.name, kept.data), values, folder / READ)
            break
        except UserError as error:
            hint = error.hint or ""
            notes = (*notes, error.message + (f" ({hint})" if hint.startswith("there are") else ""))
    if seen is None or kept.about is None:
        return replace(console, notes=notes)
    found = tap.read((folder / TAP).read_bytes())
    both = pin_correlation.together(console.read[0], seen.file, pins, found, kept)
    files = (replace(console.files[0], reading=both.console), replace(seen, reading=both.pins))
    joined = join([f.file for f in files], {}, both.links, both.reference)
    # An edge is more exact than a line of the console.
    told = {p.name for boot in both.pins.boots for p in boot.points if p.kind == "milestone"}
    texts = {name: text for name, text in console.answers.milestones.items() if name not in told}
    notes = (*notes, *both.notes, *seen.reading.questions)
    return Understood(
        files, console.left_out, joined, msgspec.structs.replace(console.answers, milestones=texts), notes
    )


def read_once(raw: Raw, values: dict[str, str], path: Path) -> FileRead:
    """The first file in `raw`, read with these options; the result is kept at `path`.

    Raises UserError when its format is unknown.
    """
    wanted = kept_readings.key(raw.data, values)
    kept = kept_readings.load(path, wanted)
    if kept:
        with contextlib.suppress(UserError):
            guesses = tuple(Guess(registry.reader(name), sure) for name, sure in kept.guesses)
            reader = registry.reader(kept.reader)
            return FileRead(kept.name, raw.name, kept.size_bytes, reader, guesses, kept.reading)
    found = understand([raw], Answers(values=values), strict=True).files[0]
    known = [(guess.reader.name, guess.sure) for guess in found.guesses]
    whole = kept_readings.Kept(found.name, found.reader.name, found.size_bytes, known, found.reading)
    kept_readings.keep(path, wanted, whole)
    return found


def understand(raws: Sequence[Raw], answers: Answers, *, strict: bool) -> Understood:
    """Recognises, reads and joins files.

    Raises UserError when `strict` for a file whose format is unknown, or is not the one named; and when no
    file could be read at all.
    """
    files: list[FileRead] = []
    left_out: list[LeftOut] = []
    work = _Work(answers, Budget())
    for folder, group in groupby(raws, key=lambda raw: raw.folder):
        for item in work.folder(list(group)) if folder else (x for raw in group for x in work.file(raw)):
            if isinstance(item, FileRead):
                files.append(item)
            elif strict and not item.lenient:
                raise item.error
            else:
                left_out.append(item)
    if not files:
        raise _nothing(left_out)
    joined = join([f.file for f in files], _offsets(files, answers))
    return Understood(tuple(files), tuple(left_out), joined, answers)


def _nothing(left_out: Sequence[LeftOut]) -> UserError:
    hint = "bootscope import --formats lists what can be read"
    if len(left_out) == 1:
        return UserError(left_out[0].why, hint=hint)
    return UserError(f"none of {len(left_out)} files is of a known format", hint=hint)


Item = FileRead | LeftOut


class _Work:
    """Opens and reads files, with the user's answers."""

    def __init__(self, answers: Answers, budget: Budget) -> None:
        self._answers, self._budget = answers, budget

    def file(self, raw: Raw, *, lenient: bool = False) -> Iterator[Item]:
        """A file, or the files in an archive."""
        yield from self._read(sources.opened(raw.name, raw.data, self._budget), raw.name, lenient)

    def folder(self, raws: list[Raw]) -> Iterator[Item]:
        """A folder that is a format as a whole (an unpacked bootchart), or its files one by one."""
        whole = sources.as_folder(raws)
        refused = refusal(whole.source)
        known = refused or recognised(whole.source)
        if by_file(self._answers.formats, whole.source.name) is None and not known:
            for raw in raws:
                yield from self.file(raw, lenient=True)
        else:
            yield from self._read(whole, whole.source.name, lenient=refused is None)

    def _read(self, opened: Opened, raw: str, lenient: bool) -> Iterator[Item]:
        """A source, and what the collector on a target has sent over the console, where this is a log of
        one."""
        files, log = sources.sent(opened, self._budget)
        yield from self._one(log, raw, lenient or bool(files))
        for file in files:
            yield from self._read(file, raw, lenient=True)

    def _one(self, opened: Opened, raw: str, lenient: bool) -> Iterator[Item]:
        source = opened.source
        told = by_file(self._answers.formats, source.name)
        forced = registry.reader(told) if told else None
        if not forced and (error := refusal(source)):
            yield LeftOut(source.name, error, lenient)
            return
        guesses = [] if forced and not source.members else recognised(source)
        if source.members and not (guesses if not forced else forced.sure(source)):
            for member in sources.members(opened, self._budget):
                yield from self._read(member, raw, lenient=True)
            return
        try:
            chosen = forced or (guesses[0].reader if guesses else None)
            if chosen is None:
                raise unrecognised(source)
            stamp = by_file(self._answers.stamps, source.name)
            reading = chosen.read(source, Options(stamp, self._answers.values))
        except UserError as error:
            yield LeftOut(source.name, error, lenient)
            return
        reading = replace(reading, repairs=[*opened.repairs, *reading.repairs])
        size = len(source.data) or sum(len(data) for data in source.members.values())
        yield FileRead(source.name, raw, size, chosen, () if forced else tuple(guesses), reading)
        # The collector stores the kernel's trace beside its own logs.
        if trace := source.members.get(TRACE):
            yield from self._read(
                sources.opened(f"{source.name}/{TRACE}", trace, self._budget), raw, lenient=True
            )


def by_file(answers: Mapping[str, str], name: str) -> str | None:
    """The user's answer for a file: by its name, by the last part of its name, or for all files."""
    for key in (name, Path(name).name, ALL):
        if key in answers:
            return answers[key]
    return None


def _offsets(files: Sequence[FileRead], answers: Answers) -> dict[str, int]:
    """The offsets by the full names of files. Raises UserError for a name that matches no file."""
    found: dict[str, int] = {}
    for key, offset_ns in answers.offsets_ns.items():
        names = [f.name for f in files if f.name == key] or [
            f.name for f in files if Path(f.name).name == key
        ]
        if len(names) != 1:
            known = ", ".join(printable(f.name) for f in files[:10])
            raise UserError(
                f"--offset {printable(key)}: no such file in this import", hint=f"there are: {known}"
            )
        found[names[0]] = offset_ns
    return found
