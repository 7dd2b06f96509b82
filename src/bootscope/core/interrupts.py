# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, a plain 'kill' and a closed terminal: all end the command in the same way, and none is lost.

Python raises KeyboardInterrupt wherever it happens to be, including code whose errors it only prints (its own
work after a fork, finalizers) or wraps in others (the creation of classes). An hour's search would then
continue, or end as if it had a bug.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_AGAIN_S = 0.02


class _State:
    number = 0
    """The last signal received, whatever its effect; 0 for none."""
    holding = 0
    held = False


_state = _State()


def install() -> None:
    """Makes the signals raise KeyboardInterrupt, except those that the caller ignores (nohup)."""
    for number in SIGNALS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _interrupt)
    sys.unraisablehook = _not_lost


def asked() -> bool:
    """Whether the user has asked us to end."""
    return bool(_state.number)


@contextlib.contextmanager
def holding() -> Iterator[None]:
    """Holds a signal back until the end of the block, which then raises KeyboardInterrupt.

    Signals reach the main thread only; in others this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _state.holding += 1
    try:
        yield
    finally:
        _state.holding -= 1
        # Even if the block failed: a user who asked us to end does not need the reason.
        if _state.held and not _state.holding:
            _state.held = False
            raise KeyboardInterrupt


def _interrupt(number: int, frame: FrameType | None) -> None:
    _state.number = number
    if _state.holding:
        _state.held = True
    else:
        raise KeyboardInterrupt


def _not_lost(error: sys.UnraisableHookArgs) -> None:
    """Sends the signal again, a moment later, if Python has discarded its exception."""
    if not issubclass(error.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(error)
        return
    again = threading.Timer(_AGAIN_S, _send)
    again.daemon = True
    again.start()


def _send() -> None:
    ident = threading.main_thread().ident
    if ident is not None:
        # The same signal: the caller may ignore others.
        signal.pthread_kill(ident, _state.number)
