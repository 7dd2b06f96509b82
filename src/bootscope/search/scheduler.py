# SPDX-License-Identifier: Apache-2.0
"""The scheduler of a search: one thread builds, several boot, all at the same time; on a cluster all do both.

A search asks for one system at a time, as if it were alone, and hints what it is likely to ask for next; that
is worked on while there is nothing better to do. So the result does not depend on the number of threads:
boots of the emulated board are exact, also several at once. One builder is enough, as a build compiles on all
cores by itself. On a cluster each thread waits for a worker.

Work on hinted systems that were never asked for is counted: it is the cost of looking ahead.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Sequence

import msgspec

from bootscope.analysis.views import view
from bootscope.capture.record import BootEnd
from bootscope.capture.stored import StoredRun
from bootscope.core import structs
from bootscope.core.errors import BootscopeError, LostClusterError, SpaceError, StepError, UserError
from bootscope.search.ahead import Ahead
from bootscope.search.emulator import Emulator
from bootscope.search.job import BOOTING, BUILDING, BUILT, DONE, WAITING, Candidate, Job, Stopped, Watcher
from bootscope.search.journal import Journal
from bootscope.search.outcome import Outcome, failed, outcome_of

_LOOK_S = 0.2
_END_S = 10.0


class Scheduler:
    """Builds and boots for a search. `boots` is how many boots may run at the same time."""

    def __init__(self, bench: Emulator, journal: Journal, boots: int, tell: Callable[[str], None]) -> None:
        self.bench, self.journal, self.tell = bench, journal, tell
        self.boots = bench.hands or max(1, boots)
        self.ahead = Ahead()
        self.measured_now = 0
        """Systems that were built or booted by this scheduler."""
        self._to_beat_ns: int | None = None
        self._jobs: dict[str, Job] = {}
        self._wanted: str | None = None
        self._hints: list[str] = []
        self._closed = False
        self._changed = threading.Condition()
        # Daemons: however the process ends, it does not wait for them, and their programs die with it.
        structs.ready()
        both: Sequence[int] = (WAITING, BUILT)
        each = [both] * bench.hands if bench.hands else [both[:1], *[both[1:]] * self.boots]
        self._threads = [threading.Thread(target=self._do, args=[states], daemon=True) for states in each]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Scheduler:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def known(self, candidate: Candidate) -> Outcome | None:
        """The outcome of a system, if it is known already."""
        key = self.bench.key(candidate.loaded)
        return self._known(key) if key else None

    def measured(self, candidate: Candidate) -> Outcome:
        """The outcome of a system: known from before, or built and booted now.

        A failed build or boot is an outcome too. But if the base fails, whose `what` is empty, UserError or
        ToolError is raised; and SpaceError when the disk is full.
        """
        key = self.bench.key(candidate.loaded)
        self.ahead.ask(key)
        found = self._known(key) or self._recorded(key, candidate) if key else None
        if found and (found.run_id or candidate.what):
            return found
        with self._changed:
            job = self._job(candidate, key)
            self._wanted = job.key
            self._make_way()
            self._changed.notify_all()
            try:
                while job.state != DONE:
                    # With a timeout, so that Ctrl-C is handled.
                    self._changed.wait(_LOOK_S)
            finally:
                self._wanted = None
            del self._jobs[job.key]
        if job.error:
            raise job.error
        assert job.outcome
        return job.outcome

    def give_up_after(self, limit_ns: int) -> None:
        """From now on boots are given up after so much virtual time."""
        self.bench = self.bench.limited(limit_ns)

    def to_beat(self, total_ns: int | None) -> None:
        """From now on slower systems are refused, and their required milestones need not be checked; None if
        slower systems count, too."""
        self._to_beat_ns = total_ns

    def _worth_asking(self, outcome: Outcome) -> bool:
        beats = self._to_beat_ns is None or outcome.total_ns <= self._to_beat_ns
        return outcome.reached and (beats or not outcome.what)

    def hint(self, candidates: Iterable[Candidate]) -> None:
        """Sets what is likely to be asked for next, most likely first; replaces the earlier hints."""
        keyed = [(self._key_if_planned(c), c) for c in candidates]
        new = [(key, c) for key, c in keyed if key and not self._known(key)]
        with self._changed:
            self._hints = [key for key, _ in new]
            for key, job in list(self._jobs.items()):
                if job.state in (WAITING, BUILT, DONE) and key not in self._hints and key != self._wanted:
                    del self._jobs[key]
            for key, candidate in new:
                self._job(candidate, key)
            self._changed.notify_all()

    def _key_if_planned(self, candidate: Candidate) -> str:
        """The key of a candidate; empty if its steps cannot be planned, which is an error once it is asked
        for."""
        try:
            return self.bench.key(candidate.loaded)
        except UserError:
            return ""

    def close(self) -> None:
        """Stops all work under way, and waits until it has ended."""
        with self._changed:
            self._closed = True
            for job in self._jobs.values():
                job.stop = True
            self._changed.notify_all()
        until = time.monotonic() + _END_S
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    # ---- what is known ----

    def _known(self, key: str) -> Outcome | None:
        kept = self.journal.outcome(key)
        if not kept:
            return None
        found, current = kept
        if not found.run_id:
            return found
        if not found.asked and self._worth_asking(found):
            return None
        if found.ended in (BootEnd.HANG, BootEnd.LIMIT) and found.limit_ns < self.bench.limits.limit_ns:
            return None  # it might reach its milestone within the time it is given now
        store = self.bench.store
        if not (store.runs / found.run_id).is_dir():
            return None  # it was removed
        if current:
            return found
        # Another version of bootscope may compute other figures; the recording is what counts.
        with contextlib.suppress(BootscopeError):
            again = outcome_of(view(store, store.load(found.run_id)), key, found.what)
            again = msgspec.structs.replace(
                again,
                limit_ns=found.limit_ns,
                host_ms=found.host_ms,
                unanswered=found.unanswered,
                asked=found.asked,
            )
            self.journal.add(again)
            return again
        return None

    def _recorded(self, key: str, candidate: Candidate) -> Outcome | None:
        """The outcome of a system that was booted outside of this search."""
        # Required milestones need further boots, for which there is time elsewhere.
        run = None if _requires(candidate) else self.bench.recorded(candidate.loaded)
        if not run:
            return None
        found = view(self.bench.store, run)
        outcome = outcome_of(found, key, candidate.what, self.bench.lasting(found.boot))
        outcome = msgspec.structs.replace(outcome, limit_ns=self.bench.limits.limit_ns)
        self._remember(outcome)
        return outcome

    # ---- work ----

    def _job(self, candidate: Candidate, key: str) -> Job:
        # A system whose sources are not fetched has no key yet; there is only one such at a time.
        job = self._jobs.get(key)
        if not job or job.stop:
            job = self._jobs[key] = Job(candidate, key)
        return job

    def _make_way(self) -> None:
        """Stops what blocks the wanted system: work of the same kind that nobody asks for any more, and, if
        all workers are busy, a build that is only likely to be asked for."""
        state = self._jobs[self._wanted or ""].state
        busy = {WAITING: BUILDING, BUILT: BOOTING}.get(state)
        kinds = (BUILDING, BOOTING) if self.bench.hands else (busy,)
        under_way = [(key, job) for key, job in self._jobs.items() if busy and job.state in kinds]
        for key, job in under_way:
            if key not in self._hints:
                job.stop = True
        if self.bench.hands:
            # The least likely one yields, and only if no worker is free or about to become free.
            if len(under_way) >= self.bench.hands and not any(job.stop or job.yields for _, job in under_way):
                max(under_way, key=lambda pair: self._hints.index(pair[0]))[1].yields = True
        else:
            for _, job in under_way:
                job.yields |= busy == BUILDING and not job.stop

    def _take(self, states: Sequence[int]) -> Job | None:
        """Waits for a job in one of these states: the wanted one first. None when the scheduler is closed."""
        with self._changed:
            while not self._closed:
                for key in (self._wanted, *self._hints):
                    job = None if key is None else self._jobs.get(key)
                    if job and job.state in states and not job.stop:
                        job.state = {WAITING: BUILDING, BUILT: BOOTING}[job.state]
                        return job
                self._changed.wait()
        return None

    def _do(self, states: Sequence[int]) -> None:
        while job := self._take(states):
            self._work(job, self._built if job.state == BUILDING else self._booted)

    def _built(self, job: Job, bench: Emulator) -> StoredRun | None:
        job.order = bench.order(job.candidate.loaded)
        return bench.known(job.order)

    def _booted(self, job: Job, bench: Emulator) -> StoredRun | None:
        assert job.order
        return bench.boot(job.order)

    def _work(self, job: Job, work: Callable[[Job, Emulator], StoredRun | None]) -> None:
        watcher, begun = Watcher(job, self.tell), time.monotonic()
        state, outcome = DONE, None
        # A boot keeps to its end the limit that was in force when it was built.
        limit_ns = job.order.limits.limit_ns if job.order else self.bench.limits.limit_ns
        try:
            run = work(job, self.bench.watched_by(watcher, watcher))
            if run:
                outcome = self._outcome(job, run, self.bench.watched_by(watcher, watcher))
            else:
                state = BUILT
        except Stopped:
            state = DONE if job.stop else BUILT if job.order else WAITING
        except (UserError, StepError) as error:
            outcome = self._failed(job, error, True)
        except (SpaceError, LostClusterError) as error:
            job.error = error
        except BootscopeError as error:
            outcome = self._failed(job, error, False)
        except BaseException as error:
            job.error = error
        took_s = time.monotonic() - begun
        job.host_s += took_s
        self.ahead.spend(job.key, took_s)
        if outcome:
            outcome = msgspec.structs.replace(outcome, limit_ns=limit_ns, host_ms=round(job.host_s * 1000))
            try:
                self._remember(outcome)
            except BootscopeError as error:
                job.error = error
        with self._changed:
            job.state, job.outcome, job.yields = state, outcome, False
            self.measured_now += state == DONE
            self.ahead.end(job.key, state == DONE and not job.stop)
            if job.stop and self._jobs.get(job.key) is job:
                del self._jobs[job.key]
            self._changed.notify_all()

    def _outcome(self, job: Job, run: StoredRun, bench: Emulator) -> Outcome:
        found = view(self.bench.store, run)
        outcome = outcome_of(
            found,
            # Its sources are fetched now, so it has a key.
            job.key or self.bench.key(job.candidate.loaded),
            job.candidate.what,
            self.bench.lasting(found.boot),
        )
        asked = self._worth_asking(outcome)
        missing = bench.unanswered(job.candidate.loaded) if asked else ()
        asked = asked or not outcome.reached or not _requires(job.candidate)
        return msgspec.structs.replace(outcome, unanswered=missing, asked=asked)

    def _remember(self, outcome: Outcome) -> None:
        if outcome.lasting and outcome.key:
            self.journal.add(outcome)

    def _failed(self, job: Job, error: BootscopeError, lasting: bool) -> Outcome | None:
        if not job.candidate.what:
            job.error = error
            return None
        return failed(job.key, job.candidate.what, error, lasting)


def _requires(candidate: Candidate) -> bool:
    """Whether a system has required milestones."""
    return any(milestone.required for milestone in candidate.loaded.system.milestones.values())
