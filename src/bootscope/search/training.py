# SPDX-License-Identifier: Apache-2.0
"""A profile of the application, from a boot of it that counts its branches.

The system is built once more with a program that counts (GCC's -fprofile-generate) and booted to its
milestone. That boot is repeated up to the last moment at which the application runs, and its counters are
read from memory: nothing needs to be written on the board, and the application need not end.
"""

from __future__ import annotations

from pathlib import Path, PurePath

import msgspec

from bootscope.analysis.views import view
from bootscope.builder.plan import Built
from bootscope.builder.steps import code_profile
from bootscope.builder.steps.userland import APPLICATION_WHOLE
from bootscope.capture.record import write_whole
from bootscope.core.errors import ToolError, UserError
from bootscope.debugging import gcov
from bootscope.emulator.gdb_remote import Remote
from bootscope.inventory.application_profile import samples
from bootscope.inventory.recorded import facts
from bootscope.search.bench import Bench
from bootscope.search.emulator import Emulator
from bootscope.system.load import LoadedSystem

_STATIC, _MUSL, _GLIBC = "-static", "musl", "glibc"
_AT_OTHER_ADDRESSES = ("-pie", "-fpie", "-fPIE", "-static-pie")
_KEPT = "application-profile"
"""A file of the training boot."""


def training(loaded: LoadedSystem) -> LoadedSystem:
    """The system with an application that counts. The counting needs the compiler's own C library."""
    application = loaded.system.application
    musl = application.libc == _MUSL
    options = [option for option in application.compiler_options if option not in _AT_OTHER_ADDRESSES]
    options += [_STATIC] if musl and _STATIC not in options else []
    counting = msgspec.structs.replace(
        application,
        compiler_options=(*options, *code_profile.TRAINING),
        libc=_GLIBC if musl else application.libc,
        profile=msgspec.UNSET,
    )
    system = msgspec.structs.replace(
        loaded.system, name=f"{loaded.system.name}.training", application=counting
    )
    return LoadedSystem(system, loaded.path)


def profile(bench: Emulator, loaded: LoadedSystem) -> str:
    """The profile of a system's application, for the setting `application.profile`.

    Raises UserError where the counting system does not reach its milestone, or its application does not run
    before; ToolError as builds and recordings do.
    """
    if not isinstance(bench, Bench):
        raise UserError(
            "the application is not compiled here: only a system that bootscope builds is profiled"
        )
    counting = training(loaded)
    process = loaded.system.application.process
    if not bench.recorded(counting):
        bench.progress.note(f"building and booting {process} with counters of its branches ...")
    run = bench.measured(counting)
    boot = run.boots[0]
    if not boot.info.complete:
        raise UserError(f"{counting.system.name}, whose application counts, fails: {boot.info.message}")
    kept = boot.path / _KEPT
    if kept.exists():
        return kept.read_text()
    known = facts(bench.store, view(bench.store, run))
    index = next(samples(known), None)
    if index is None:
        raise UserError(f"no sample of {process} before {run.info.until}: there is nothing to profile")
    evidence = known.view.evidence
    at_ns, cpu = evidence.recorded[index].time_ns, evidence.cpu_of_records[index]
    program = _program(bench, counting)
    bench.progress.note("booting it once more, to read the counters ...")
    with bench.standing(run, boot, counting, at_ns) as machine, Remote(machine.socket) as remote:
        cpus = remote.cpus()
        if cpu >= len(cpus):
            raise ToolError(f"QEMU's gdbstub has no CPU {cpu}")
        remote.choose(cpus[cpu])
        files = gcov.profile(program, remote.memory)
    text = code_profile.packed({in_build(name): data for name, data in files.items()})
    write_whole(kept, text.encode())
    return text


def _program(bench: Bench, loaded: LoadedSystem) -> Path:
    built: Built = bench.order(loaded).built
    return bench.executor.result(built, "application", bench.runner) / APPLICATION_WHOLE


def in_build(name: str) -> str:
    """The path of a file in the folder that the application was built in, from the path where the program
    would write it: `.../scratch/build/NAME` with a configure script, `.../scratch/NAME` else."""
    parts = PurePath(name).parts
    for place in (("scratch", "build"), ("scratch",)):
        for at in range(len(parts) - len(place), -1, -1):
            if parts[at : at + len(place)] == place:
                return "/".join(parts[at + len(place) :])
    raise ToolError(f"the application's counters are of no file of its build: {name}")
