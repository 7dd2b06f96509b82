# SPDX-License-Identifier: Apache-2.0
"""The code in which the application spends its time, and the profile that the compiler takes for it.

A recording shows the functions. The profile needs a boot of a program that counts (search/training.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from bootscope.builder.steps.code_profile import SETTING
from bootscope.capture.stream import Sample
from bootscope.core.text import cut
from bootscope.inventory.inventory import Absent, Inventory, Part
from bootscope.inventory.recorded import Recorded, Unrecorded

PLACEHOLDER = "application_profile"
_COMM_BYTES = 15
"""The kernel keeps so much of a process's name."""
_FEW = 10
"""With fewer samples in the application's own code, there is nothing to gain."""
_NAMED, _LONGEST = 3, 40


class Untrained(Unrecorded):
    """A profile is missing, which one more boot would give."""


def profile(known: Inventory) -> str:
    """The profile of the application. Raises Absent where it is not compiled here, Untrained where no boot
    has counted yet."""
    if known.knows(Part.SETTINGS) and not compiled(known):
        raise Absent("its application is not compiled here")
    if isinstance(known, Recorded) and known.profile:
        return known.profile
    raise Untrained("the application has no profile yet", hint="bootscope try app-profile-hot-code makes one")


def compiled(known: Inventory) -> bool:
    """Whether bootscope compiles the application."""
    return any(known.settings.get(f"application.{key}") for key in ("sources", "configured.source"))


def computes(facts: Recorded) -> str:
    """The functions in which the application spends its own time until the milestone, in words; empty where
    that is next to nothing, or where it has a profile already."""
    if SETTING in facts.settings:
        return ""
    names = Counter(_functions(facts))
    count = sum(names.values())
    if count < _FEW:
        return ""
    most = [f"{cut(name, _LONGEST)} {n * 100 // count} %" for name, n in names.most_common(_NAMED)]
    return f"{count} samples in code of {facts.settings.get('application.process', '')}: {', '.join(most)}"


def samples(facts: Recorded) -> Iterator[int]:
    """Indices of samples in code of the application's process, the last one first."""
    evidence = facts.view.evidence
    comm = facts.settings.get("application.process", "").encode()[:_COMM_BYTES].decode("utf-8", "ignore")
    kernel = evidence.arch.kernel.first_address
    for index in range(len(evidence.records) - 1, -1, -1):
        record = evidence.records[index]
        if isinstance(record, Sample) and record.pc < kernel:
            now = evidence.clock.before(index)
            task = evidence.slice_at(now, evidence.cpu_of_records[index]).task
            if comm and task.number and task.name_at(now) == comm:
                yield index


def _functions(facts: Recorded) -> Iterator[str]:
    evidence = facts.view.evidence
    for index in samples(facts):
        now, record = evidence.clock.before(index), evidence.records[index]
        task = evidence.slice_at(now, evidence.cpu_of_records[index]).task
        assert isinstance(record, Sample)
        yield evidence.names.user(evidence.phase_at(now), record.pc, task, now).rpartition(" ")[2]


FOUND: dict[str, Callable[[Inventory], str]] = {PLACEHOLDER: profile}
"""The placeholder, and a function for its value in a system."""
