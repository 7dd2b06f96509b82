# SPDX-License-Identifier: Apache-2.0
"""The results of stories when they were last run here: small data, written by tools/stories.py."""

from __future__ import annotations

from pathlib import Path

import msgspec

RESULTS = Path(__file__).parent / "story_results"


class StepResult(msgspec.Struct, frozen=True):
    """The result of a step: its recording and times in ns, or why there are none.

    `total_ns`: from power-on to the story's milestone; `phases_ns` and `split_ns` (cpu_ns, storage_ns, ...)
    each add up to it. `functions_ns`: the times of the functions that the story watches.
    """

    run_id: str = ""
    error: str = ""
    total_ns: int = 0
    phases_ns: dict[str, int] = {}
    split_ns: dict[str, int] = {}
    functions_ns: dict[str, int] = {}


class StoryResult(msgspec.Struct, frozen=True):
    """The result of a story: of its start and of each completed step. `here`: what it ran on, in words."""

    story: str
    date: str
    command: str
    here: dict[str, str]
    steps: dict[str, StepResult]


def story_result(name: str) -> StoryResult | None:
    """The result of a story; None for one that has not been run."""
    path = RESULTS / f"{name}.json"
    return msgspec.json.decode(path.read_bytes(), type=StoryResult) if path.exists() else None
