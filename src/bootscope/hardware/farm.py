# SPDX-License-Identifier: Apache-2.0
"""Boards of a labgrid farm: a place is acquired, listened to, switched, and always released.

A process of labgrid's own Python (labgrid_worker.py) holds the place. It has a session of its own and
releases the place as soon as its input ends, so even when this process is killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from bootscope.boards.physical import AUTO, Console, is_host
from bootscope.core.errors import BoardError, BootscopeError, UserError, printable, unknown
from bootscope.core.paths import cache_dir
from bootscope.hardware import remote_capture
from bootscope.hardware.labgrid_process import ANSWER_S, Gone, WorkerProcess, labgrid_python

PATIENCE_S = 30.0
"""How long to wait, once, for a coordinator that went away between two boots."""
_AGAIN_S = 1.0


@dataclass(frozen=True)
class Wish:
    """The request to the farm.

    `place` is a place's name or alias, or tags such as ``soc=a10,ram=1g``, for any place that has them;
    `coordinator` is HOST:PORT, empty for the one that labgrid's own variable names; `env` is the user's
    environment file, and `state` the state that its strategy goes to first; `wait_s` is how long to wait for
    a place that is not free; `port` names the serial port of a place that has several; `rate` overrides the
    farm's line rate; `tap_host` is the computer that is to listen, ``auto`` for the exporter's.
    """

    place: str
    coordinator: str = ""
    client: str = ""
    env: str = ""
    state: str = ""
    wait_s: float = 0.0
    port: str = ""
    rate: int = 0
    tap_host: str = ""


class Held(BoardError):
    """Another user holds the place."""


@dataclass
class Place:
    """A place of a farm that we hold; a :class:`bootscope.hardware.power.Power`."""

    wish: Wish
    tell: Callable[[str], None]
    name: str = ""
    switches: str = ""
    """The labgrid driver that switches it; empty when none does."""
    tells_when: bool = True
    _worker: WorkerProcess | None = None
    _mine: bool = False
    _patience_s: float = PATIENCE_S
    _why: BoardError | None = None
    """Why the place could not be acquired again."""
    _given_up: bool = False
    _network: Console | None = None
    """The console over the network, where listening on another computer is optional."""
    _locks: list[Any] = field(default_factory=list)

    @property
    def words(self) -> str:
        """How it is switched, in words for people."""
        return f"by labgrid's {self.switches or 'place'} of {self.name}"

    # ---- acquiring and releasing ----

    def take(self) -> None:
        """Acquires the place, or acquires it again. Raises BoardError when another user holds it, UserError
        when there is no such place."""
        w, again = self.wish, bool(self.name)
        filters = dict(part.split("=", 1) for part in w.place.split(",")) if "=" in w.place else {}
        self._worker = WorkerProcess(labgrid_python(w.client), w.coordinator)
        found = self._ask(
            "acquire",
            w.wait_s + ANSWER_S,
            place=self.name or w.place,
            filters={} if again else filters,
            wait_s=0 if again else w.wait_s,
            env=w.env,
            adopt=self._mine,
        )
        self.name = str(found["place"])
        if again:
            return
        self._only_one(str(found["owner"]))
        self._mine = not found["ours"]
        if found["ours"]:
            self.tell(f"you already hold the place {self.name}, and keep it")
        else:
            self.tell(f"acquired the place {self.name}")

    def _only_one(self, owner: str) -> None:
        """Labgrid distinguishes users only; two processes of one user must not use a place at once."""
        folder = cache_dir() / "places"
        folder.mkdir(parents=True, exist_ok=True)
        coordinator = self.wish.coordinator or os.environ.get("LG_COORDINATOR", "")
        name = re.sub(r"[^A-Za-z0-9._-]", "_", f"{coordinator}-{self.name}")
        lock = (folder / name[:200]).open("w")
        self._locks.append(lock)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise BoardError(
                f"the place {self.name} is held by another bootscope of yours ({printable(owner)})",
                hint="wait until it is done",
            ) from error

    def give_back(self) -> None:
        """Releases the place if we acquired it."""
        if self._mine and self._worker and self._worker.ended:
            # A new worker releases what this one held.
            with contextlib.suppress(BootscopeError):
                self._again()
        worker, self._worker = self._worker, None
        if worker and not worker.close() and self._mine:
            self.tell(f"no coordinator; the place {self.name} is released if it returns within 2 minutes")
        for lock in self._locks:
            lock.close()

    # ---- before and during a boot ----

    def console(self) -> Console:
        """Where the console is now; acquires the place again if a coordinator that was away has lost it.

        Raises BoardError.
        """
        until = time.monotonic() + self._patience_s
        # The next call does not wait unless this one succeeds: a coordinator that is away this long stays
        # away.
        patience_s, self._patience_s = self._patience_s, 0.0
        told = False
        while True:
            try:
                found = self._ask("console", name=self.wish.port)
                break
            except BoardError as error:
                if time.monotonic() >= until:
                    raise self._why or error from None
            if not told:
                self.tell(f"the farm does not answer; waiting up to {patience_s:.0f} s for it")
                told = True
            time.sleep(_AGAIN_S)
            self._again()
        self._patience_s = PATIENCE_S
        self.switches = str(found["power"])
        self.tells_when = bool(self.switches)
        rate = self.wish.rate or int(found["speed"] or 0)
        plain = Console(kind=str(found["kind"]), host=str(found["host"]), port=str(found["port"]), rate=rate)
        return self._tapped(plain, str(found["exporter"]), str(found["path"]))

    def _tapped(self, plain: Console, exporter: str, path: str) -> Console:
        """The console, listened to on another computer where that is requested and possible."""
        wished, auto = self.wish.tap_host, self.wish.tap_host == AUTO
        if not wished or (auto and self._given_up):
            return plain
        there = remote_capture.is_port(path)
        if auto and not (there and is_host(exporter)):
            return self._over_the_network(plain, "the farm does not name the port and its computer")
        self._network = plain if auto else None
        host = exporter if auto else wished
        port = Console(kind="serial", port=path, rate=plain.rate) if there else plain
        return msgspec.structs.replace(port, tap_host=host)

    def instead(self, error: BoardError) -> Console | None:
        """What to listen to when the console cannot be listened to; None for nothing."""
        return self._over_the_network(self._network, error.message) if self._network else None

    def _over_the_network(self, plain: Console, why: str) -> Console:
        # All boots of a run must be listened to in the same way.
        self._given_up, self._network = True, None
        self.tell(f"listening over the network: {why}")
        return plain

    def _again(self) -> None:
        """Acquires the place again. Raises Held when another user holds it by now."""
        if self._worker:
            self._worker.kill()
        try:
            self.take()
            self._why = None
        except Held:
            raise
        except BoardError as error:
            # What fails now may succeed in a moment.
            self._why = error

    def deploy(self) -> None:
        """Brings the board to the requested state with the user's strategy. Raises BoardError."""
        if self.wish.state:
            self.tell(f"labgrid's strategy goes to '{self.wish.state}'")
            self._ask("deploy", 3600, state=self.wish.state)

    def on(self) -> None:
        self._ask("on")

    def off(self) -> None:
        self._ask("off")

    def _ask(self, do: str, answer_s: float = ANSWER_S, **facts: object) -> dict[str, Any]:
        if not self._worker:
            raise BoardError(f"the place {self.name} was taken over by another user")
        try:
            answer = self._worker.ask(do, answer_s, **facts)
        except Gone as error:
            raise BoardError(f"the process that holds the place has ended: {error}") from error
        if "error" in answer:
            raise _refused(do, self.name or self.wish.place, answer)
        return answer


def _refused(do: str, place: str, answer: dict[str, Any]) -> BootscopeError:
    """The error for what labgrid could not do."""
    kind, text, place = answer["error"], printable(str(answer["text"])), printable(place)
    if kind == "held":
        by = printable(str(answer.get("by") or ""))
        if not by:
            return Held(text, hint="--labgrid-wait S waits longer; 'labgrid-client who' lists the holders")
        host, _, user = by.rpartition("/")
        return Held(
            f"the place {place} is held by {user} on {host}",
            hint="--labgrid-wait S waits for it; or the holder allows you: "
            f"labgrid-client -p {place} allow {printable(str(answer.get('me') or 'HOST/USER'))}",
        )
    if kind == "unknown":
        return unknown("place", place, [str(name) for name in answer.get("known", [])])
    if kind == "away":
        return BoardError(
            f"labgrid's coordinator does not answer: {text}",
            hint="give its address: labgrid:PLACE@HOST:PORT, or LG_COORDINATOR",
        )
    if kind == "lost":
        return BoardError(f"labgrid place lost: {text}")
    doing = {"on": "switched on", "off": "switched off", "acquire": "taken", "deploy": "brought to its state"}
    return BoardError(f"the place {place} cannot be {doing.get(do, 'used')}: {text}")


def places(coordinator: str, client: str = "") -> tuple[str, ...]:
    """Names and aliases of the places that a coordinator has. Raises BoardError, ToolError."""
    worker = WorkerProcess(labgrid_python(client), coordinator)
    try:
        answer = worker.ask("places")
    except Gone as error:
        raise BoardError(f"labgrid cannot list the places of {printable(coordinator)}: {error}") from error
    finally:
        worker.close()
    if "error" in answer:
        raise _refused("places", coordinator, answer)
    return tuple(str(name) for name in answer["places"])


@contextlib.contextmanager
def held(wish: Wish, tell: Callable[[str], None], *, deploy: bool = True) -> Iterator[Place]:
    """A place that we hold inside the block, brought to the requested state unless `deploy` is false: then
    the caller does that. Raises BoardError, UserError, ToolError."""
    if wish.state and not wish.env:
        raise UserError("--labgrid-state needs --labgrid-env", hint="the strategy is in an environment file")
    if wish.env and "=" in wish.place:
        raise UserError("an environment file needs a place name, not tags")
    place = Place(wish, tell)
    try:
        place.take()
        if deploy:
            place.deploy()
        yield place
    finally:
        place.give_back()
