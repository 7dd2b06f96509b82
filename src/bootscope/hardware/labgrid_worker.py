#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The process that holds a place of a labgrid farm, and switches it; run by labgrid's own Python.

It is one file that imports labgrid and the standard library only. `labgrid-client` needs a second to start,
which would hide when it switched the power; this process is ready when it gets a command.

It reads one command per line (JSON with `do`) and answers each with a line: the result, or `error` (its kind)
and `text`. Kinds: held (by another user; `by`), unknown (no such place; `known`), away (no coordinator), lost
(another user has taken over the place), labgrid (anything else that labgrid refuses).

    places    -> places: the names and aliases of all
    acquire   place, filters, wait_s, env, adopt: acquires the place, or adopts one that an earlier process
              acquired -> place, owner, ours (we held it before)
    console   -> kind, host, port, speed of its serial port; exporter, path: the computer and its port
              behind that, as far as the farm says; raises lost
    deploy    state: brings the board there with the user's strategy, and releases the console
    on, off   switches the place
    release   releases the place

When its input ends without that, because the asking process is gone, it releases the place as well.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import threading
import time
from typing import Any

_AGAIN_S = 2.0
_PATIENCE_S = 120.0
"""How long to wait for a coordinator that is away when the place is to be released."""
_DRIVERS = {
    "NetworkPowerPort": ["NetworkPowerDriver"],
    "PDUDaemonPort": ["PDUDaemonDriver"],
    "TasmotaPowerPort": ["TasmotaPowerDriver"],
    "NetworkUSBPowerPort": ["USBPowerDriver"],
    "NetworkSiSPMPowerPort": ["SiSPMPowerDriver"],
    "NetworkYKUSHPowerPort": ["YKUSHPowerDriver"],
    "NetworkSysfsGPIO": ["GpioDigitalOutputDriver", "DigitalOutputPowerDriver"],
}
"""The drivers that switch each resource, where no environment file of the user says so."""


class Refused(Exception):
    """A command that cannot be done: its kind, what happened, and further facts."""

    def __init__(self, kind: str, text: str, **facts: object) -> None:
        super().__init__(text)
        self.answer = {"error": kind, "text": text, **facts}


class Worker:
    """A place, from its acquisition on."""

    def __init__(self) -> None:
        self.session: Any = None
        self.place = ""
        self.owner = ""
        self.token = ""
        self.taken = False
        self.env: Any = None
        self.role: str | None = None
        self.target: Any = None
        self.went, self.first_status = False, None

    # ---- the coordinator ----

    def connect(self) -> None:
        """Connects to the coordinator. Raises Refused."""
        from labgrid.remote.client import ServerError, start_session
        from labgrid.resource.remote import RemotePlaceManager

        manager = RemotePlaceManager.get()
        address = os.environ.get("LG_COORDINATOR", "127.0.0.1:20408")
        if self.env and not os.environ.get("LG_COORDINATOR"):
            address = self.env.config.get_option("coordinator_address", address)
        try:
            self.session = start_session(address, extra={"env": self.env, "role": self.role})
        except ServerError as error:
            raise Refused("away", f"{address}: {' '.join(error.args)}") from error
        manager.session, manager.loop = self.session, self.session.loop
        self.owner = f"{self.session.gethostname()}/{self.session.getuser()}"

    def call(self, name: str, **facts: object) -> Any:
        """Sends a request to the coordinator. Raises Refused."""
        import grpc
        from labgrid.remote.generated import labgrid_coordinator_pb2 as messages

        async def asked() -> Any:
            answer = await getattr(self.session.stub, name)(getattr(messages, f"{name}Request")(**facts))
            await self.session.sync_with_coordinator()
            return answer

        try:
            return self.session.loop.run_until_complete(asked())
        except grpc.aio.AioRpcError as error:
            away = error.code() == grpc.StatusCode.UNAVAILABLE
            raise Refused("away" if away else "labgrid", error.details() or str(error.code())) from error

    def entry(self) -> Any:
        """The coordinator's current entry for the place. Raises Refused."""
        if not self.session:
            raise Refused("away", "there is no connection to the coordinator")
        heard = self.session.loop.run_until_complete(self.session.sync_with_coordinator())
        if not heard:
            raise Refused("away", "the coordinator has closed the connection")
        found = self.session.places.get(self.place)
        if found is None:
            raise Refused("lost", f"the place {self.place} no longer exists")
        return found

    def find(self, name: str) -> str:
        """The name of a place, given its name or an alias. Raises Refused."""
        places = self.session.places
        if name in places:
            return name
        user = self.session.getuser()
        for known, place in places.items():
            if {name, f"{user}:{name}"} & set(place.aliases):
                return str(known)
        raise Refused("unknown", f"the coordinator knows no place '{name}'", known=sorted(places))

    # ---- commands ----

    def places(self, order: dict[str, Any]) -> dict[str, object]:
        """The names and aliases of all places."""
        self.connect()
        own = f"{self.session.getuser()}:"
        found = dict(self.session.places)
        aliases = (alias for place in found.values() for alias in place.aliases)
        return {"places": sorted({*found, *(alias.removeprefix(own) for alias in aliases)})}

    def acquire(self, order: dict[str, Any]) -> dict[str, object]:
        """Acquires the place, with its resources in the form that labgrid's drivers need."""
        from labgrid import Target
        from labgrid.resource.remote import RemotePlace

        self._environment(order)
        self.connect()
        if order.get("filters"):
            self.place = self._reserved(order["filters"], float(order["wait_s"]))
        else:
            self.place = self.find(order["place"])
            if self.entry().acquired not in (None, "", self.owner) and order["wait_s"]:
                self._reserved({"name": self.place}, float(order["wait_s"]))
        holder = self.entry().acquired
        ours = holder == self.owner
        if holder and not ours and self.owner not in self.entry().allowed:
            raise Refused("held", f"{self.place} is held by {holder}", by=holder, me=self.owner)
        self.taken = ours and bool(order.get("adopt"))
        if not holder:
            self.session.check_matches(self.entry())
            self.call("AcquirePlace", placename=self.place)
            self.taken = True
        if self.env:
            self.target = self.env.get_target(self.role)
        else:
            self.target = Target(self.place)
            RemotePlace(self.target, name=self.place)
        return {"place": self.place, "owner": holder or self.owner, "ours": bool(holder)}

    def _environment(self, order: dict[str, Any]) -> None:
        if not order.get("env"):
            return
        from labgrid import Environment
        from labgrid.remote.client import find_role_by_place

        self.env = Environment(order["env"])
        targets = self.env.config.get_targets()
        self.role = find_role_by_place(targets, order.get("place"))
        if self.role not in targets:
            raise Refused("labgrid", f"{order['env']} has no target with the RemotePlace {order['place']}")

    def _reserved(self, filters: dict[str, str], wait_s: float) -> str:
        """Waits for a place with these tags and returns its name. Raises Refused."""
        import labgrid.remote.common as common
        from labgrid.remote.generated import labgrid_coordinator_pb2 as messages

        wanted = " ".join(f"{key}={value}" for key, value in sorted(filters.items()))
        main = {"main": messages.Reservation.Filter(filter=filters)}
        found = common.Reservation.from_pb2(
            self.call("CreateReservation", filters=main, prio=0.0).reservation
        )
        self.token = found.token
        until = time.monotonic() + wait_s
        while found.state is common.ReservationState.waiting and time.monotonic() < until:
            time.sleep(min(1.0, wait_s))
            found = common.Reservation.from_pb2(self.call("PollReservation", token=self.token).reservation)
        names = [name for group in found.allocations.values() for name in group]
        if found.state is not common.ReservationState.allocated or not names:
            raise Refused("held", f"no place with {wanted} became free within {wait_s:g} s", by="")
        return str(names[0])

    def power(self) -> Any:
        """The driver that switches the place; None when there is none."""
        from labgrid import target_factory
        from labgrid.exceptions import NoDriverFoundError

        with contextlib.suppress(NoDriverFoundError):
            return self.target.get_driver("PowerProtocol")
        if self.env:
            return None
        for resource in self.target.resources:
            for name in _DRIVERS.get(type(resource).__name__, []):
                target_factory.make_driver(self.target, name, None, {})
        with contextlib.suppress(NoDriverFoundError):
            return self.target.get_driver("PowerProtocol")
        return None

    def console(self, order: dict[str, Any]) -> dict[str, object]:
        """Where the place's serial port is now, and the driver that switches the place."""
        place = self.entry()
        if place.acquired != self.owner and self.owner not in place.allowed:
            raise Refused("lost", f"{self.place} is held by {place.acquired or 'nobody'} now")
        self.target.update_resources()
        power = self.power()
        found = self._port(order.get("name"))
        return {**found, "power": type(power).__name__ if power else ""}

    def _port(self, name: str | None) -> dict[str, object]:
        from labgrid.resource import NetworkSerialPort
        from labgrid.resource.base import SerialPort
        from labgrid.util.proxy import proxymanager

        ports = [r for r in self.target.resources if isinstance(r, (NetworkSerialPort, SerialPort))]
        if name:
            ports = [r for r in ports if r.name == name]
        if not ports:
            raise Refused("labgrid", f"{self.place} has no serial port" + (f" named {name}" if name else ""))
        if len(ports) > 1:
            names = ", ".join(str(r.name) for r in ports)
            raise Refused("labgrid", f"{self.place} has more than one serial port: {names}", known=names)
        port = ports[0]
        if isinstance(port, SerialPort):
            here = {"kind": "serial", "host": "", "port": port.port, "speed": port.speed}
            return {**here, "exporter": "", "path": ""}
        self.target.await_resources([port], timeout=10.0)
        host, number = proxymanager.get_host_and_port(port)
        kind = "tcp" if port.protocol == "raw" else "telnet"
        # The exporter also names the local port that it opens for the network port.
        path = str((getattr(port, "extra", None) or {}).get("path") or "")
        there = {"exporter": port.host, "path": path}
        return {"kind": kind, "host": host, "port": str(number), "speed": port.speed, **there}

    def deploy(self, order: dict[str, Any]) -> dict[str, object]:
        """Brings the board to a state with the user's strategy."""
        from labgrid.exceptions import NoDriverFoundError

        strategy = self.target.get_driver("Strategy")
        self._anew(strategy)
        strategy.transition(order["state"])
        with contextlib.suppress(NoDriverFoundError):
            self.target.deactivate(self.target.get_active_driver("ConsoleProtocol"))
        return {}

    def _anew(self, strategy: Any) -> None:
        """Makes a strategy forget its last state: the images are new, and it must run again."""
        if self.went and hasattr(strategy, "invalidate"):
            strategy.invalidate()
        elif hasattr(strategy, "status"):
            self.first_status = strategy.status if not self.went else self.first_status
            strategy.status = self.first_status
        self.went = True

    def on(self, order: dict[str, Any]) -> dict[str, object]:
        """Switches the place on, or off."""
        driver = self.power()
        if driver is None:
            raise Refused("labgrid", f"{self.place} has no power control")
        getattr(driver, order["do"])()
        return {}

    off = on

    def release(self, order: dict[str, Any]) -> dict[str, object]:
        """Releases what was acquired. Raises Refused."""
        if self.taken:
            # Only our own: another user may hold it by now.
            self.call("ReleasePlace", placename=self.place, fromuser=self.owner)
            self.taken = False
        if self.token:
            with contextlib.suppress(Refused):
                self.call("CancelReservation", token=self.token)
            self.token = ""
        return {}


def obey(worker: Worker, order: dict[str, Any]) -> dict[str, object]:
    """Carries out a command; the answer also reports failures, of any part of labgrid."""
    try:
        found: dict[str, object] = getattr(worker, order["do"])(order)
    except Refused as error:
        return error.answer
    except Exception as error:  # drivers and strategies are the user's code
        return {"error": "labgrid", "text": f"{type(error).__name__}: {error}"}
    return found


def give_back(worker: Worker) -> None:
    """Releases the place, even when the coordinator is away for a while."""
    until = time.monotonic() + _PATIENCE_S
    while worker.taken or worker.token:
        try:
            worker.release({})
        except Exception:
            if time.monotonic() > until:
                return
            time.sleep(_AGAIN_S)
            with contextlib.suppress(Exception):
                worker.connect()


def end_after(parent: int, patience_s: float) -> None:
    """Ends this process that long after its parent: labgrid waits forever for a coordinator that is gone."""
    while os.getppid() == parent:
        time.sleep(_AGAIN_S)
    time.sleep(patience_s)
    os._exit(1)


def main() -> None:
    """Carries out commands until the input ends."""
    threading.Thread(target=end_after, args=(os.getppid(), 2 * _PATIENCE_S), daemon=True).start()
    # The output of drivers must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    asyncio.set_event_loop(asyncio.new_event_loop())
    worker = Worker()
    try:
        for line in sys.stdin:
            print(json.dumps(obey(worker, json.loads(line))), file=answers, flush=True)
    except BrokenPipeError:
        pass
    finally:
        give_back(worker)


if __name__ == "__main__":
    main()
    # Threads of labgrid's libraries may still be waiting for the coordinator.
    os._exit(0)
