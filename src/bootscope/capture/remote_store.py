# SPDX-License-Identifier: Apache-2.0
"""A store on a server (depot.py), with a store on this computer in front of it.

Everything is recorded and read here: a slow or missing network costs no boot. Other people's runs are fetched
when needed, and checked like any saved run. Runs made here are sent when the command ends; those that could
not be sent follow with the next command.

    sent/RUN.json     a run here as the server has it: hash, labels, and the state of its files then
    entries.json      the server's list as last read
"""

from __future__ import annotations

import contextlib
import fcntl
import secrets
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType

import msgspec

from bootscope.capture import labels
from bootscope.capture.depot import Depot, Entry, checked_url, entry_of
from bootscope.capture.loading import load
from bootscope.capture.program import program_id
from bootscope.capture.record import BOOT, write_whole
from bootscope.capture.saved import MADE_AGAIN
from bootscope.capture.saving import save
from bootscope.capture.store import Store, natural
from bootscope.capture.stored import DAMAGED, RECORDING, Summary
from bootscope.core.errors import ToolError, to_stderr

_FRESH_S = 10.0
"""How long the server's list stays valid."""
_SENT, _FETCHING = "sent", ".fetching.lock"


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """A run as sent, or fetched: the archive's hash, its labels, and the state of its files here."""

    sha256: str
    labels: dict[str, str]
    state: str


class RemoteStore(Store):
    """The store at `url`, by way of the folder `root`. Raises UserError for a URL that cannot hold one."""

    def __init__(
        self,
        root: Path,
        url: str,
        says: Callable[[str], None] = to_stderr,
        marks: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(root, says, marks)
        self._depot = Depot(checked_url(url), root / "entries.json")
        self._looked_s: float | None = None
        self._there: dict[str, Entry] = {}
        self._looking = threading.Lock()
        (root / _SENT).mkdir(exist_ok=True)

    # ---- what is there ----

    def _entries(self) -> dict[str, Entry]:
        """The server's runs; if it cannot be read, that is reported once, and the known entries are used."""
        with self._looking:
            if self._looked_s is None or time.monotonic() - self._looked_s > _FRESH_S:
                first = self._looked_s is None
                try:
                    self._there, damaged = self._depot.entries()
                    if damaged and first:
                        self._says(f"left out {len(damaged)} runs with unreadable entries: {damaged[0]} ...")
                    self._take_labels()
                except ToolError as error:
                    self._there = self._depot.known()
                    if first:
                        hint = f" ({error.hint})" if error.hint else ""
                        self._says(f"{error.message}{hint}; its list is as it was read last")
                self._looked_s = time.monotonic()
        return self._there

    def _take_labels(self) -> None:
        """Takes over labels that were changed only on the server, for runs that are here."""
        for run_id, entry in self._there.items():
            sent = self._sent(run_id) if self.is_here(run_id) else None
            if sent and sent.labels != entry.labels and super().labels_of(run_id) == sent.labels:
                with contextlib.suppress(OSError):
                    self._set_labels(run_id, entry.labels)
                    self._mark(run_id, msgspec.structs.replace(sent, labels=entry.labels))

    def _set_labels(self, run_id: str, wanted: Mapping[str, str]) -> None:
        gone = {key: "" for key in super().labels_of(run_id) if key not in wanted}
        labels.write(self.runs / run_id, {**gone, **wanted})

    def _elsewhere(self, run_id: str) -> Entry | None:
        """The entry of a run that is only on the server."""
        return None if self.is_here(run_id) else self._entries().get(run_id)

    def run_ids(self) -> list[str]:
        return sorted({*super().run_ids(), *self._entries()}, key=natural)

    def kind(self, run_id: str) -> str:
        entry = self._elsewhere(run_id)
        return entry.summary.kind if entry else super().kind(run_id)

    def labels_of(self, run_id: str) -> dict[str, str]:
        entry = self._elsewhere(run_id)
        return dict(entry.labels) if entry else super().labels_of(run_id)

    def sent_figure(self, run_id: str, *, own: bool) -> str:
        entry = self._elsewhere(run_id)
        if entry is None or (own and entry.program != program_id().hex()):
            return ""
        return entry.figure

    def summary(self, run_id: str) -> Summary:
        entry = self._elsewhere(run_id)
        return entry.summary if entry else super().summary(run_id)

    def summaries(self) -> list[Summary]:
        here = {summary.run_id: summary for summary in super().summaries_of(Store.run_ids(self))}
        there = self._entries()
        return [here.get(run_id) or there[run_id].summary for run_id in self.run_ids()]

    def find_id(self, name: str | None) -> str:
        run_id = super().find_id(name)
        self.fetch(run_id)
        return run_id

    # ---- to here ----

    def fetch(self, run_id: str) -> None:
        """Fetches a run, unless it is here as the server has it. Raises ToolError if that fails."""
        if not self._wanted(run_id):
            return
        with (self.root / _FETCHING).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            entry = self._wanted(run_id)  # another command may have fetched it meanwhile
            if entry is None:
                return
            with tempfile.TemporaryDirectory(prefix=".fetching-", dir=self.root) as folder:
                archive = Path(folder) / f"{run_id}.bsz"
                self._depot.fetch(entry, archive)
                if self.is_here(run_id):
                    super().remove(run_id)
                load(self, archive, [run_id])
            self._set_labels(run_id, entry.labels)
            self._mark(run_id, Sent(sha256=entry.sha256, labels=entry.labels, state=self._state(run_id)))

    def _wanted(self, run_id: str) -> Entry | None:
        """The entry of a run that is not here, or that somebody has since changed on the server."""
        entry = self._entries().get(run_id)
        if entry is None or not self.is_here(run_id):
            return entry
        sent = self._sent(run_id)
        changed_there = sent is not None and sent.sha256 != entry.sha256
        return entry if changed_there and sent and sent.state == self._state(run_id) else None

    # ---- from here ----

    def new_run_id(self, system: str, now: datetime) -> str:
        # Computers that record the same system in the same second must not choose the same name.
        return super().new_run_id(f"{system}-{secrets.token_hex(2)}", now)

    def unsent(self) -> Iterator[str]:
        """The complete runs here that the server lacks, or has in another state."""
        for run_id in Store.run_ids(self):
            sent = self._sent(run_id)
            same = sent and (sent.state, sent.labels) == (self._state(run_id), super().labels_of(run_id))
            if not same and super().summary(run_id).ended not in (RECORDING, DAMAGED):
                yield run_id

    def send(self, run_id: str) -> None:
        """Sends a run, or only its labels if nothing else changed.

        Raises ToolError if that fails, and if the server has another run of that name, which stays.
        """
        sent, state, there = self._sent(run_id), self._state(run_id), self._entries().get(run_id)
        known = super().labels_of(run_id)
        if sent and sent.state == state:
            if there:  # else somebody removed it there
                self._put(msgspec.structs.replace(there, labels=known), None)
            self._mark(run_id, Sent(sha256=sent.sha256, labels=known, state=state))
            return
        with tempfile.TemporaryDirectory(prefix=".sending-", dir=self.root) as folder:
            archive = Path(folder) / f"{run_id}.bsz"
            save(self, [run_id], archive)
            figure, program = self._figure(run_id)
            entry = entry_of(archive, super().summary(run_id), known, figure, program)
            if there and there.sha256 not in (entry.sha256, sent.sha256 if sent else ""):
                words = f"the server has another run {run_id}; neither was changed"
                raise ToolError(words, hint=f"bootscope save {run_id} -o FILE.bsz keeps the one here")
            if there != entry:
                self._put(entry, archive)
            if there and there.sha256 != entry.sha256:
                with contextlib.suppress(ToolError):
                    self._depot.remove_archive(there)
            self._mark(run_id, Sent(sha256=entry.sha256, labels=known, state=state))

    def _put(self, entry: Entry, archive: Path | None) -> None:
        self._depot.put(entry, archive)
        self._there[entry.run_id] = entry

    def _figure(self, run_id: str) -> tuple[str, str]:
        """The figures of a run for the list, and the program that computed them; empty for none."""
        with contextlib.suppress(OSError, UnicodeDecodeError):
            return (self.runs / run_id / "figure.json").read_text("utf-8"), program_id().hex()
        return "", ""

    def remove(self, run_id: str) -> None:
        """Removes a run here and on the server. Raises ToolError if the server refuses; then both stay."""
        entry = self._entries().get(run_id)
        if self.is_recording(self.runs / run_id):
            super().remove(run_id)  # which refuses
        if entry:
            self._depot.remove(entry)
            self._there.pop(run_id, None)
        if self.is_here(run_id):
            super().remove(run_id)
        self._sent_file(run_id).unlink(missing_ok=True)

    # ---- marks ----

    def _sent_file(self, run_id: str) -> Path:
        return self.root / _SENT / f"{run_id}.json"

    def _sent(self, run_id: str) -> Sent | None:
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            return msgspec.json.decode(self._sent_file(run_id).read_bytes(), type=Sent)
        return None

    def _mark(self, run_id: str, sent: Sent) -> None:
        write_whole(self._sent_file(run_id), msgspec.json.encode(sent))

    def _state(self, run_id: str) -> str:
        """The state of a run's descriptions: which exist, their lengths, and when they were written."""
        folder = self.runs / run_id
        left_out = {*MADE_AGAIN, labels.LABELS}
        found = []
        for path in sorted([*folder.glob("*.json"), *folder.glob(f"boots/*/{BOOT}")]):
            if path.name not in left_out:
                with contextlib.suppress(OSError):
                    known = path.stat()
                    found.append(f"{path.relative_to(folder)} {known.st_size} {known.st_mtime_ns}")
        return "\n".join(found)
