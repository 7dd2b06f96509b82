# SPDX-License-Identifier: Apache-2.0
"""The collector that runs on a target, compiled for this machine: its parts, and what it sees here."""

from __future__ import annotations

import io
import random
import subprocess
import tarfile
import threading
import time
from pathlib import Path

import pytest

from bootscope.readers.base import Boot, Options, Source
from bootscope.readers.formats.bootchart import READERS
from bootscope.readers.sent import sent_files
from bootscope.timeline.trace import Track

from .builders import ROOT

MS = 1_000_000
SANITIZED = "-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"
RANDOM = random.Random(7)
INPUTS = {
    "empty": b"",
    "one byte": b"x",
    "text": b"cpu  1 0 39 41 0 0 0 0 0 0\n" * 3000,
    "zeros": bytes(200_000),
    "random": RANDOM.randbytes(100_000),
    "mixed": b"".join(RANDOM.choice((b"abcdef", b"0 0 0 ", RANDOM.randbytes(5))) for _ in range(40_000)),
}


def made(folder: Path, target: str, flags: str) -> Path:
    """`target` of the collector's Makefile, in `folder`."""
    source = ROOT / "native" / "agent"
    command = ["make", "-C", str(source), f"OUT={folder}", f"CFLAGS={flags}", str(folder / target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / target


@pytest.fixture(scope="module")
def check(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("check"), "check", SANITIZED)


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("agent"), "bootscope-agent", SANITIZED)


def test_parts(check: Path) -> None:
    done = subprocess.run([check], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", INPUTS)
def test_archive_is_what_went_in(check: Path, name: str) -> None:
    done = subprocess.run([check, "pack"], input=INPUTS[name], capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(done.stdout), mode="r:gz") as archive:
        data = [f.read() for m in archive if (f := archive.extractfile(m))]
        assert all((m.mode, m.mtime) == (0o644, 1_700_000_000) for m in archive.getmembers())
    assert b"".join(data) == INPUTS[name]
    if name in ("text", "zeros"):
        assert len(done.stdout) * 10 < len(INPUTS[name])


def test_cards_tell_what_they_erase_at_once(check: Path, tmp_path: Path) -> None:
    sizes = {
        "mmc0:aaaa": "4194304\n",
        "mmc1:0001": "524288\n",
        "mmc2:0007": "0\n",
        "mmc3:" + "x" * 60: "512\n",
    }
    for name, size in sizes.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "preferred_erase_size").write_text(size)
    (tmp_path / "mmc4:0001:1").mkdir()  # of SDIO, which erases nothing
    done = subprocess.run([check, "cards", tmp_path], capture_output=True, text=True, check=True)
    key, equals, first, second = done.stdout.split()
    assert (key, equals) == ("bootscope.card_erase_bytes", "=")
    assert {first, second} == {"mmc0:aaaa=4194304", "mmc1:0001=524288"}
    for folder in tmp_path.iterdir():
        (folder / "preferred_erase_size").unlink(missing_ok=True)
    done = subprocess.run([check, "cards", tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout == ""


@pytest.mark.parametrize("name", INPUTS)
def test_what_is_sent_is_what_went_in(check: Path, name: str) -> None:
    done = subprocess.run([check, "send"], input=INPUTS[name], capture_output=True, check=True)
    (file,), _ = sent_files(b"login: " + done.stdout + b"# ")
    assert (file.name, file.data, file.repairs) == ("x.tgz", INPUTS[name], [])


def started(agent: Path, *options: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen([agent, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end(collector: subprocess.Popen[str]) -> None:
    """Waits for its end, which must be a good one."""
    _, errors = collector.communicate(timeout=60)
    assert (collector.returncode, errors) == (0, "")


def boot_of(path: Path) -> Boot:
    with tarfile.open(path) as archive:
        members = {m.name: f.read() for m in archive if (f := archive.extractfile(m))}
    reading = READERS[0].read(Source(path.name, b"", members), Options())
    assert reading.missed == []
    (boot,) = reading.boots
    return boot


def tracks_of(boot: Boot, pid: int) -> list[Track]:
    return [t for t in boot.tracks if t.kind == "process" and t.title.endswith(f"({pid})")]


@pytest.mark.alone
@pytest.mark.parametrize("sources", ["all", "connector", "proc"])
def test_sees_processes_of_this_machine(agent: Path, tmp_path: Path, sources: str) -> None:
    out, stop = tmp_path / "x.tgz", tmp_path / "stop"
    collector = started(
        agent, "--sources", sources, "-o", out, "--stop-file", stop, "--stop-after", "60", "--period", "50"
    )
    time.sleep(0.5)
    begun_ns = time.monotonic_ns()
    # It waits, and then works for a while.
    script = "import time; time.sleep(0.3)\nt = time.thread_time()\nwhile time.thread_time() < t + 0.2: pass"
    with subprocess.Popen(["python3", "-c", script]) as child:
        pass
    ended_ns = time.monotonic_ns()
    time.sleep(0.3)
    stop.touch()
    end(collector)
    boot = boot_of(out)
    assert boot.facts["tool"].startswith("bootscope-agent") and boot.facts["stopped by"] == "file"
    (track,) = tracks_of(boot, child.pid)
    assert track.title.startswith("python3")
    # By events the beginning is exact; in samples it is right to 10 ms, and the end to a sample.
    exact = boot.facts["sources"] != "proc"
    assert begun_ns - 10 * MS <= track.spans[0].start_ns <= begun_ns + (200 * MS if exact else 400 * MS)
    slack_ns = 100 * MS if exact else 2000 * MS
    assert ended_ns - slack_ns <= track.spans[-1].end_ns <= ended_ns + slack_ns
    used_ns = sum(int(span.detail.get("cpu_ns", 0)) for span in track.spans)
    assert used_ns >= (100 if exact else 50) * MS


@pytest.mark.alone
def test_sees_each_process_where_the_kernel_tells(agent: Path, tmp_path: Path) -> None:
    out, stop = tmp_path / "x.tgz", tmp_path / "stop"
    collector = started(agent, "-o", out, "--stop-file", stop, "--stop-after", "60", "--linger", "100")
    time.sleep(0.5)
    pids = []
    for _ in range(30):
        with subprocess.Popen(["true"]) as child:
            pids.append(child.pid)
    stop.touch()
    end(collector)
    boot = boot_of(out)
    found = [pid for pid in pids if tracks_of(boot, pid)]
    if boot.facts["sources"] == "proc":
        # Not allowed to listen here; then it says how many it has not seen.
        assert len(found) < len(pids)
    else:
        assert found == pids
        assert {tracks_of(boot, pid)[0].title for pid in pids} == {f"true ({pid})" for pid in pids}


def test_tells_its_own_cost(agent: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.tgz"
    end(started(agent, "-o", out, "--stop-after", "1"))
    with tarfile.open(out) as archive:
        header = archive.extractfile("header")
        assert header
        told = dict(line.split(" = ", 1) for line in header.read().decode().splitlines() if " = " in line)
    assert told["bootscope.stopped_by"] == "time"
    assert 10_000 < int(told["bootscope.cost.cpu_ns"]) < 1_000 * MS
    assert 900 * MS < int(told["bootscope.ended_ns"]) - int(told["bootscope.begun_ns"]) < 30_000 * MS


@pytest.mark.alone
def test_stops_at_a_process_and_at_a_signal(agent: Path, tmp_path: Path) -> None:
    program = tmp_path / "a-product-with-a-long-name"
    program.write_text("#!/bin/sh\nsleep 1\n")
    program.chmod(0o755)
    collector = started(agent, "-o", tmp_path / "a.tgz", "--stop-process", program.name, "--linger", "0")
    time.sleep(0.5)
    subprocess.run([program], check=True)
    end(collector)
    assert boot_of(tmp_path / "a.tgz").facts["stopped by"] == "process"
    collector = started(agent, "-o", tmp_path / "b.tgz")
    time.sleep(0.5)
    collector.terminate()
    end(collector)
    assert boot_of(tmp_path / "b.tgz").facts["stopped by"] == "signal"


@pytest.mark.alone
def test_keeps_to_its_memory(agent: Path, tmp_path: Path) -> None:
    out, stop = tmp_path / "x.tgz", tmp_path / "stop"
    collector = started(
        agent, "-o", out, "--memory", "640", "--stop-file", stop, "--linger", "0", "--period", "1"
    )

    def work() -> None:
        for _ in range(1500):
            subprocess.run(["true"], check=True)
            if collector.poll() is not None:
                return

    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    time.sleep(3)
    stop.touch()
    end(collector)
    boot = boot_of(out)
    assert boot.tracks
    with tarfile.open(out) as archive:
        header = archive.extractfile("header")
        assert header and b"bootscope.memory_limit = reached" in header.read()


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--period", "0"], "--period"),
        (["--stop-after"], "--stop-after needs a value"),
        (["nonsense"], "nonsense"),
        (["--sources", "tea"], "is one of all, perf"),
    ],
)
def test_wrong_options_are_named(agent: Path, options: list[str], word: str) -> None:
    done = subprocess.run([agent, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and word in done.stderr


def test_goes_on_to_the_next_place_when_a_file_cannot_be_written(agent: Path, tmp_path: Path) -> None:
    line = tmp_path / "line"
    line.touch()
    done = subprocess.run(
        [agent, "-o", tmp_path / "no" / "x.tgz", "--console", line, "--stop-after", "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    (file,), _ = sent_files(line.read_bytes())
    assert file.name == "bootscope-agent.tgz" and file.repairs == []
    with tarfile.open(fileobj=io.BytesIO(file.data)) as archive:
        assert archive.getnames()[:2] == ["header", "taskstats.log"]
