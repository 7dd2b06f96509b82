# SPDX-License-Identifier: Apache-2.0
"""Steps: named pieces of work whose result is identified by everything that went into it."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from bootscope.arch.model import Architecture
from bootscope.builder import history
from bootscope.builder.cache import Cache
from bootscope.builder.ids import file_sha256, id_of
from bootscope.builder.progress import Progress
from bootscope.builder.share import Share
from bootscope.core.damaged import DAMAGED
from bootscope.core.errors import CommandError, SpaceError, StepError, ToolError
from bootscope.core.process import Finished, build_environment, run, search_path
from bootscope.core.tools import require, versions

OBJECTS = "objects"
"""The unit that the progress of a build counts."""

EPOCH = 1_767_225_600
"""The time that all builds see: 2026-01-01 00:00:00 UTC."""

BUILD_ENV = {
    "SOURCE_DATE_EPOCH": str(EPOCH),
    "KBUILD_BUILD_TIMESTAMP": "2026-01-01 00:00:00 UTC",
    "KBUILD_BUILD_USER": "bootscope",
    "KBUILD_BUILD_HOST": "bootscope",
    "E2FSPROGS_FAKE_TIME": str(EPOCH),
}


@dataclass(frozen=True)
class Step:
    """One step of a build.

    `revision` rises when the step works differently; `inputs` are values and hashes of files;
    `needs` names the steps whose results go in; `tools` the programs whose version matters.

    For the estimate of a build: `program` is what is compiled, in words; `figures` the name under which its
    duration is kept (empty for seconds); `tree` has the step of its sources, what else distinguishes the
    trees that it may continue from (bootscope.builder.trees), and the compiler.
    """

    name: str
    title: str
    revision: int
    work: Callable[[Context], None]
    inputs: Mapping[str, object] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    program: str = ""
    figures: str = ""
    tree: tuple[str, str, str] | None = None

    def step_id(self, ids: Mapping[str, str]) -> str:
        """The content id, given the ids of the steps that this one needs."""
        return id_of(
            {
                "step": self.name,
                "recipe": self.revision,  # the key that the first ids used
                "inputs": self.inputs,
                "needs": {name: ids[name] for name in self.needs},
                "tools": versions(*self.tools),
                "environment": BUILD_ENV,
            }
        )


_PASSING = re.compile(r"No space left|Cannot allocate memory|\bKilled\b|Temporary failure")


class Meta(msgspec.Struct, frozen=True):
    """A finished step's record of itself (meta.json). One that is `continued` went on from an earlier
    build, so that `work_units` are not all its objects."""

    step: str
    step_id: str
    files: dict[str, str]
    work_units: int
    continued: bool = False


@dataclass
class Context:
    """What a step works with: results of earlier steps, a scratch folder, and where its own go. `programs`:
    folders searched for programs before the computer's own."""

    results: Mapping[str, Path]
    scratch: Path
    out: Path
    cache: Cache
    progress: Progress
    jobs: int
    use_ccache: bool
    units: int = 0
    cpu_ns: int = 0
    continued: bool = False
    programs: tuple[Path, ...] = ()

    @property
    def log(self) -> Path:
        """The full output of everything the step ran."""
        return self.scratch / "log.txt"

    def run(
        self, command: Sequence[str | Path], cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> Finished:
        """Runs a command with the build's environment plus `env`; its output is logged."""
        done = run(
            command,
            cwd=cwd or self.scratch,
            env=build_environment({**self._env(), **(env or {})}),
            log=self.log,
            on_line=self._count,
        )
        self.cpu_ns += done.cpu_ns
        return done

    def make(self, arch: Architecture, tree: Path, build: Path, *arguments: str) -> Finished:
        """Runs make on a Kconfig tree, with a separate build folder."""
        gcc = f"{'ccache ' if self.use_ccache else ''}{arch.tools.tool('gcc')}"
        options = [f"O={build}", f"-j{self.jobs}", f"CROSS_COMPILE={arch.tools.prefix}", f"CC={gcc}"]
        return self.run(["make", "-C", tree, *options, *arguments])

    def _env(self) -> dict[str, str]:
        return {
            **BUILD_ENV,
            **self._compiler(),
            "CCACHE_DIR": str(self.cache.root / "ccache"),
            # Builds run in a new folder each time; objects do not contain its name.
            "CCACHE_NOHASHDIR": "1",
            "CCACHE_MAXSIZE": "5G",
        }

    @property
    def search_path(self) -> str:
        """Where the step finds the programs that it calls by name."""
        return os.pathsep.join([*map(str, self.programs), search_path()])

    def _compiler(self) -> dict[str, str]:
        """Puts `programs` first in PATH; ccache then identifies compilers by file content."""
        path = {"PATH": self.search_path, "CCACHE_COMPILERCHECK": "content"}
        return path if self.programs else {}

    _OBJECT = re.compile(r"^ +(?:CC|AS|LD|AR|HOSTCC|LDS|OBJCOPY)\b")

    def _count(self, line: str) -> None:
        """Counts the objects that a build has made, for the progress bar."""
        if self._OBJECT.match(line):
            self.units += 1
            self.progress.update(self.units, None, OBJECTS)


def read_meta(path: Path) -> Meta:
    """The meta.json of a finished step. Raises ToolError when it is damaged."""
    try:
        return msgspec.json.decode((path / "meta.json").read_bytes(), type=Meta)
    except (OSError, *DAMAGED) as error:
        raise ToolError(f"{path}/meta.json cannot be read: {error}", hint="remove that folder") from error


def _is_unpacking(step: Step) -> bool:
    return step.name.startswith("unpack-")


@dataclass
class Runner:
    """Runs steps, taking from the cache what is there, and from a share what others have built."""

    cache: Cache
    progress: Progress
    jobs: int = 2
    use_ccache: bool = False
    share: Share | None = None

    def run(self, step: Step, step_id: str, results: Mapping[str, Path]) -> Path:
        """The folder with the step's result. Raises ToolError when it cannot be built."""
        found = self.cache.find(step_id)
        if found:
            return found
        require(*step.tools)
        wait = f"{step.name}: waiting for another bootscope that builds it"
        made = functools.partial(self.cache.find, step_id)
        with self.cache.lock(step_id, lambda: self.progress.note(wait), lambda: bool(made())):
            return made() or self._shared(step, step_id) or self._make(step, step_id, results)

    def _shared(self, step: Step, step_id: str) -> Path | None:
        """The step's result from the share. Sources are always unpacked here: that is quicker."""
        return self.share.get(self.cache, step_id) if self.share and not _is_unpacking(step) else None

    def _make(self, step: Step, step_id: str, results: Mapping[str, Path]) -> Path:
        self.progress.begin(step.name, step.title)
        begun_ns = time.monotonic_ns()
        used = [path.name for path in results.values()]
        with self.cache.use(used), self.cache.workspace() as work:
            (work / "scratch").mkdir()
            (work / "out").mkdir()
            context = Context(
                results=results,
                scratch=work / "scratch",
                out=work / "out",
                cache=self.cache,
                progress=self.progress,
                jobs=self.jobs,
                use_ccache=self.use_ccache,
            )
            try:
                step.work(context)
            except ToolError as error:
                raise self._failed(step, error, self._save_log(context, step_id)) from error
            except BaseException:
                self._save_log(context, step_id)
                raise
            self._describe(step, step_id, context)
            path = self.cache.commit(context.out, self.cache.steps / step_id)
        self._remember(step, context, time.monotonic_ns() - begun_ns)
        self.progress.finish(step.name)
        if self.share and not _is_unpacking(step):
            self.share.put(self.cache, step_id)
        return path

    def _failed(self, step: Step, error: ToolError, log: str) -> ToolError:
        message = f"{step.name}: {error.message}"
        if isinstance(error, StepError):
            return StepError(message, log, hint=error.hint)
        # A failure from a signal or a full disk may not recur.
        if isinstance(error, CommandError) and error.status > 0 and not _PASSING.search(message):
            return StepError(message, log)
        kind = SpaceError if "No space left" in message or isinstance(error, SpaceError) else ToolError
        return kind(message, hint=f"full log: {log}" if log else error.hint)

    def _save_log(self, context: Context, step_id: str) -> str:
        """Keeps the log of a failed step, whose folder is removed; returns its path, empty for none."""
        if not context.log.exists():
            return ""
        logs = self.cache.root / "logs"
        logs.mkdir(exist_ok=True)
        kept = logs / f"{step_id[:16]}.txt"
        context.log.replace(kept)
        return str(kept)

    def _describe(self, step: Step, step_id: str, context: Context) -> None:
        files = {
            path.name: file_sha256(path)
            for path in sorted(context.out.iterdir())
            if path.is_file() and not path.is_symlink()
        }
        meta = Meta(step.name, step_id, files, context.units, context.continued)
        (context.out / "meta.json").write_bytes(msgspec.json.encode(meta))

    def _remember(self, step: Step, context: Context, time_ns: int) -> None:
        """Keeps the duration of a step for the next estimate."""
        if step.figures and not context.continued:
            took = history.Took(context.units, time_ns, context.cpu_ns, history.cores_for(self.jobs))
            # Optional: the step itself is in the cache.
            with contextlib.suppress(OSError):
                history.keep(self.cache.root, step.figures, took)
