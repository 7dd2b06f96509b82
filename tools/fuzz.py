# SPDX-License-Identifier: Apache-2.0
"""Fuzzes every reader with damaged fixtures and noise, for a given time each, in separate processes.

    python tools/fuzz.py [--seconds 600] [--only NAME]... [--jobs N] [--seed N]

A reader may refuse a file only with a UserError, must keep its counts consistent, and gets 10 s of CPU time
and 500 MB for an input of at most 1 MB. Input that breaks these rules is reduced and kept in
tests/readers/crashers/READER, where an ordinary test tries it again from then on.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.readers import test_bootstat, test_job_logs, test_logged_consoles, test_uefi_dp
from tests.readers.replay import CRASHERS, attempt

from bootscope.core.errors import UserError
from bootscope.readers.base import Reader, Reading, Source
from bootscope.readers.registry import reader, readers
from bootscope.readers.source import opened
from bootscope.readers.unpack import Budget, archive, compression, decompressed

FIXTURES = ROOT / "tests" / "fixtures" / "readers"
MAX_CASE = 1 << 20
MAX_SEEDS = 400
MADE_BYTES = 100
CPU_S = 10
MEMORY_BYTES = 500 << 20
TOKENS = (
    b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\n\r", b"\x1b[31m", b"[", b"]", b"[    0.000000] ",
    b"99999999999999999999", b"-1", b"0x", b"1e999", b"nan", b"9" * 5000, b"   " * 2000, b"{", b"}" * 50,
    b'"', b"\\", b",", b";", b"=", b"<", b">", b"&", b"[[[[" * 500, b"\xc3\x28", b"\xed\xa0\x80", b"0",
    b"4294967295", b"18446744073709551615", b"9223372036854775807", b"\n\n", b":", b".", b"T", b"+", b"1",
    "²".encode(), "٣".encode(), "\u2028".encode(), b"\x0b", b"\x0c", b"\x1c", b"\x85",
)  # fmt: skip


class OutOfTimeError(BaseException):
    """A case took too long. Not an Exception, so that no reader catches it."""


def out_of_time(*_: object) -> None:
    raise OutOfTimeError


# ---- making cases ----


def seeds_for(chosen: Reader) -> list[bytes]:
    """The fixtures and texts that the reader recognises; archives are decompressed."""
    found = [made for made in texts() if chosen.sure(Source("x", made)) >= 10]
    for path in sorted(p for p in FIXTURES.rglob("*") if p.is_file() and p.name != "README.md"):
        data = path.read_bytes()
        plain = decompressed(path.name, data, Budget())[0] if compression(data) else data
        if chosen.sure(opened(path.name, data, Budget()).source) >= 10:
            found.append(plain)
    return found or [b"[    0.000000] Linux version 6.12.0\n[    1.000000] Run /init as init process\n"]


def texts() -> Iterator[bytes]:
    """Logs in the formats of tools for which tests write the logs (job servers, phones)."""
    for module in (test_job_logs, test_logged_consoles, test_bootstat, test_uefi_dp):
        for value in vars(module).values():
            for text in value.values() if isinstance(value, dict) else (value,):
                text = text[0] if isinstance(text, tuple) and text else text
                if isinstance(text, bytes | str) and len(text) > MADE_BYTES:
                    yield text if isinstance(text, bytes) else text.encode()


def mutated(rng: random.Random, seeds: list[bytes]) -> bytes:
    """A case: a seed with some damage; now and then noise, or something very long."""
    if rng.random() < 0.01:
        return rng.randbytes(rng.randrange(4096))
    data = rng.choice(seeds)
    members = members_of(data)
    if members and len(data) <= MAX_CASE and rng.random() < 0.8:
        return in_archive(rng, data, members)
    if len(data) > 8192 and rng.random() < 0.9:
        at = rng.randrange(len(data))
        data = (
            data[:512] + data[at : at + rng.randrange(8192)]
            if rng.random() < 0.5
            else data[: rng.randrange(8192)]
        )
    case = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3, 5, 9, 20))):
        damage(rng, case, seeds)
    return bytes(case[:MAX_CASE])


def members_of(data: bytes) -> list[bytes]:
    """The files in an archive; none if it is too damaged or too large to open."""
    try:
        found = archive("x", data, Budget())
    except UserError:
        return []
    return list(found.members.values()) if found else []


def in_archive(rng: random.Random, data: bytes, members: list[bytes]) -> bytes:
    """An archive with a member damaged in place: its length stays, so the rest stays readable."""
    member = rng.choice([m for m in members if m] or [b"x"])
    at = data.find(member)
    if at < 0:
        return data
    case = bytearray(member)
    for _ in range(rng.choice((1, 2, 5, 20))):
        damage(rng, case, [m for m in members if m] or [b"x"])
    return data[:at] + bytes(case[: len(member)]).ljust(len(member), b"\n") + data[at + len(member) :]


def damage(rng: random.Random, case: bytearray, seeds: list[bytes]) -> None:
    """One change to a case."""
    at = rng.randrange(len(case) + 1)
    length = rng.choice((1, 1, 2, 4, 16, 64, 512))
    way = rng.randrange(12)
    if way == 0:
        del case[at : at + length]
    elif way == 1:
        case[at : at + length] = rng.randbytes(length)
    elif way in (2, 3, 4):
        case[at : at + rng.choice((0, 0, 1, length))] = rng.choice(TOKENS)
    elif way == 5 and case:
        case[at % len(case)] ^= 1 << rng.randrange(8)
    elif way == 6:
        other = rng.choice(seeds)
        start = rng.randrange(len(other) + 1)
        case[at:at] = other[start : start + length * 8]
    elif way == 7:
        case[at:at] = case[at : at + length] * rng.choice((1, 2, 50, 3000 if length < 64 else 20))
    elif way == 8:
        del case[at:]
    elif way == 9:
        case[:] = number_changed(rng, bytes(case))
    else:
        case[:] = lines_changed(rng, bytes(case))


def number_changed(rng: random.Random, data: bytes) -> bytes:
    """The data with one number changed."""
    found = [m for m, _ in zip(re.finditer(rb"\d+", data), range(3000), strict=False)]
    if not found:
        return data
    match = rng.choice(found)
    value = rng.choice(
        (b"0", b"-1", b"9" * rng.choice((2, 10, 19, 20, 400, 5000)), b"%d" % rng.randrange(1 << 40))
    )
    return data[: match.start()] + value + data[match.end() :]


def lines_changed(rng: random.Random, data: bytes) -> bytes:
    """The data with lines swapped, dropped or repeated very often."""
    lines = data.splitlines(keepends=True)
    if not lines:
        return data
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    way = rng.randrange(5)
    if way == 0:
        lines[a], lines[b] = lines[b], lines[a]
    elif way == 1:
        del lines[a]
    elif way == 2:
        lines[a:a] = lines[b : b + 5]
    elif way == 3:
        rng.shuffle(lines)
    elif rng.random() < 0.1:
        lines[a:a] = [lines[b]] * min(20_000, (MAX_CASE - len(data)) // (len(lines[b]) + 1))
    return b"".join(lines)


# ---- trying them ----


def signature(readings: list[Reading | UserError]) -> tuple[object, ...]:
    """The kind of result of a case: cases with a new kind become seeds."""
    found: list[object] = []
    for r in readings:
        if isinstance(r, UserError):
            found.append(re.sub(r"\d+", "0", r.message)[-60:])
        else:
            kinds = {t.kind for b in r.boots for t in b.tracks}
            whats = {re.sub(r"\d+", "0", x.what) for x in r.repairs}
            missed = len(r.missed).bit_length()
            found.append(
                (len(r.boots).bit_length(), frozenset(kinds), frozenset(whats), missed, len(r.questions))
            )
    return tuple(found)


def broken(chosen: Reader, case: bytes) -> tuple[str, list[Reading | UserError]]:
    """Why the reader failed on a case (empty: it did not), and its results."""
    signal.setitimer(signal.ITIMER_PROF, CPU_S)
    try:
        return "", attempt(chosen, case)
    except OutOfTimeError:
        return f"took more than {CPU_S} s", []
    except MemoryError:
        return f"took more than {MEMORY_BYTES >> 20} MB", []
    except Exception as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if str(ROOT) in f.filename]
        where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
        return f"{type(error).__name__} in {where}: {str(error)[:200]}", []
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def smaller(chosen: Reader, case: bytes, why: str, seconds: float = 20) -> bytes:
    """A smaller case that fails in the same place."""
    until = time.monotonic() + seconds
    size = len(case) // 2
    kind = why.split(":")[0:2]
    while size and time.monotonic() < until:
        at = 0
        while at < len(case) and time.monotonic() < until:
            shorter = case[:at] + case[at + size :]
            if shorter and broken(chosen, shorter)[0].split(":")[0:2] == kind:
                case = shorter
            else:
                at += size
        size //= 2
    return case


def keep(name: str, case: bytes, why: str) -> None:
    """Stores the case with the others of its reader."""
    import hashlib

    folder = CRASHERS / name
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{hashlib.sha256(case).hexdigest()[:12]}.bin"
    path.write_bytes(case)
    print(f"{name}: BROKEN: {why}: {path.relative_to(ROOT)} ({len(case)} bytes)", flush=True)


def work(name: str, seconds: float, seed: int, current: Path) -> int:
    """Fuzzes one reader; returns the number of different failures."""
    chosen, rng = reader(name), random.Random(f"{name} {seed}")
    signal.signal(signal.SIGPROF, out_of_time)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY_BYTES, resource.RLIM_INFINITY))
    seeds = seeds_for(chosen)
    seen: set[tuple[object, ...]] = set()
    found: Counter[str] = Counter()
    until, cases = time.monotonic() + seconds, 0
    with current.open("wb", buffering=0) as note:
        while time.monotonic() < until:
            case = mutated(rng, seeds)
            # Written before the try: the case may kill this process.
            note.seek(0)
            note.truncate()
            note.write(case)
            why, answers = broken(chosen, case)
            cases += 1
            if why and not found[why.split(":")[0]]:
                keep(name, smaller(chosen, case, why), why)
            if why:
                found[why.split(":")[0]] += 1
            elif (kind := signature(answers)) not in seen and len(seeds) < MAX_SEEDS and len(case) < 65536:
                seen.add(kind)
                seeds.append(case)
    print(f"{name}: {cases:,} cases, {len(seen)} kinds of answer, {len(found)} kinds of failure", flush=True)
    current.unlink()
    return len(found)


# ---- all readers ----


def start(name: str, seconds: float, seed: int, folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, __file__, "--worker", name, "--seconds", str(seconds), "--seed", str(seed)]
    return subprocess.Popen([*command, "--current", str(folder / f"{name}.current")])


def all_of(names: list[str], seconds: float, seed: int, jobs: int) -> int:
    """Fuzzes readers in parallel; returns how many failed."""
    todo, bad = list(names), 0
    running: dict[str, subprocess.Popen[bytes]] = {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            while todo or running:
                while todo and len(running) < jobs:
                    name = todo.pop(0)
                    running[name] = start(name, seconds, seed, Path(folder))
                time.sleep(0.2)
                for name, child in list(running.items()):
                    if child.poll() is None:
                        continue
                    del running[name]
                    bad += child.returncode != 0
                    left = Path(folder) / f"{name}.current"
                    if left.exists() and child.returncode != 0:
                        keep(name, left.read_bytes(), f"the process ended with {child.returncode}")
        finally:
            for child in running.values():
                child.terminate()
    return bad


def main() -> int:
    parser = argparse.ArgumentParser(description="Fuzz every reader.")
    parser.add_argument("--seconds", type=float, default=600, help="for each reader (default: 600)")
    parser.add_argument("--only", action="append", metavar="NAME", help="only this reader; may be repeated")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="readers at the same time")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="seed of the random numbers")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--current", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        return 1 if work(args.worker, args.seconds, args.seed, args.current) else 0
    names = [reader(name).name for name in args.only or ()] or [r.name for r in readers()]
    print(
        f"{len(names)} readers, {args.seconds:g} s each, {args.jobs} at a time, seed {args.seed}", flush=True
    )
    bad = all_of(names, args.seconds, args.seed, args.jobs)
    print(f"{bad} of {len(names)} readers broke" if bad else f"none of {len(names)} readers broke")
    return 1 if bad else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        sys.exit(f"{error.message} ({error.hint})")
