# SPDX-License-Identifier: Apache-2.0
"""What a console can tell of the time between the boot loader's last line and the kernel's first one."""

from __future__ import annotations

import re

import pytest

from bootscope.analysis.joined import joined
from bootscope.analysis.samples import PHASE, SampleSet, of_timeline, of_traces
from bootscope.capture.imported import Answers, Raw
from bootscope.capture.store import Store
from bootscope.importing.files import understand
from bootscope.timeline.build import timeline
from bootscope.timeline.model import Timeline
from bootscope.timeline.trace import Trace
from tests.fixtures import stock_boot

STAMP = re.compile(r"^\[ *\d+\.\d{6}\] ")


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> Timeline:
    """A recorded boot, of which everything is known."""
    store = Store(tmp_path_factory.mktemp("store"))
    run = store.load(stock_boot.unpack(store))
    return timeline("stock", run.boots[0].records(), run.info)


def seen(truth: Timeline, *, stamps: bool = True, without: str = "") -> Trace:
    """The same boot as a host with a serial port sees it."""
    said = []
    for line in truth.lines:
        text = line.data.decode("utf-8", "replace").strip()
        if not (without and re.search(without, text)):
            said.append(f"[{line.start_ns / 1e9:.6f} 0.000000] {text if stamps else STAMP.sub('', text)}")
    log = "\n".join(said).encode() + b"\n"
    return understand([Raw("console.log", log)], Answers(formats={"": "grabserial"}), strict=True).trace(1)


def phases(found: Trace) -> dict[str, int]:
    track = found.track("phases")
    return {s.name: s.duration_ns for s in track.spans} if track else {}


def test_the_silence_is_named_for_all_that_is_in_it(truth: Timeline) -> None:
    """It holds the early kernel: called decompress it was twice as long as decompression."""
    really = {p.name: p.duration_ns for p in truth.phases}
    found = phases(seen(truth))
    assert "decompress" not in found
    assert found["decompress+early-kernel"] > 1.5 * really["decompress"]


def test_the_kernels_stamps_bound_it(truth: Timeline) -> None:
    really = {p.name: p for p in truth.phases}
    first_line_ns = next(x.start_ns for x in truth.lines if b"Booting Linux on" in x.data)
    (note,) = [n for n in seen(truth).notes if n.startswith("decompress+early-kernel")]
    most_ms, least_ms = (float(x.replace(",", "")) for x in re.findall(r"([\d,.]+) ms", note))
    assert really["decompress"].duration_ns / 1e6 <= most_ms
    assert most_ms < 1.5 * really["decompress"].duration_ns / 1e6
    assert 0 < least_ms <= (first_line_ns - really["kernel"].start_ns) / 1e6


def test_the_bound_is_a_detail_of_the_phase_so_that_exports_have_it(truth: Timeline) -> None:
    track = seen(truth).track("phases")
    assert track
    (span,) = [s for s in track.spans if s.name == "decompress+early-kernel"]
    assert {"decompress_most_ns", "early_kernel_least_ns"} < set(span.detail)


def test_without_stamps_nothing_is_claimed(truth: Timeline) -> None:
    (note,) = seen(truth, stamps=False).notes
    assert "these inputs cannot separate them" in note
    assert not re.search(r"\d", note)


def test_a_quiet_kernels_time_is_in_the_name(truth: Timeline) -> None:
    kernel = r"Booting Linux on|Linux version"
    assert "kernel (its first line not seen)" in phases(seen(truth, without=kernel))
    found = phases(seen(truth, without=rf"{kernel}|Freeing unused|as init process"))
    assert list(found)[-1] == "kernel and user space (not split: quiet)"


def test_a_console_and_a_recording_are_compared_by_what_both_tell(truth: Timeline) -> None:
    recorded = SampleSet("recorded", (of_timeline(truth),))
    a, b = joined(recorded, of_traces("seen", [("seen/001", seen(truth))]))
    rows_a, rows_b = ({q.name: s.values(q)[0] for q in s.quantities() if q.kind == PHASE} for s in (a, b))
    assert {"bootloader+load", "decompress+kernel"} <= set(rows_a) & set(rows_b)
    assert abs(rows_a["decompress+kernel"] - rows_b["decompress+kernel"]) < 5_000_000


def test_a_phase_whose_end_was_not_seen_is_in_no_sum(truth: Timeline) -> None:
    """Its boot ended with the console's last line: that is no match for the recorded init."""
    recorded = SampleSet("recorded", (of_timeline(truth),))
    cut = of_traces("seen", [("seen/001", seen(truth))])
    assert cut.boots[0].bounded == ("init",)
    a, b = joined(recorded, cut)
    for boots in (a, b):
        assert not any("init" in q.name for q in boots.quantities() if q.kind == PHASE)
