# SPDX-License-Identifier: Apache-2.0
"""The application: which address shows what.

    /                         the runs: searched, filtered and sorted by the query; searches
    /events                   a mark of the list's state, whenever it changes
    /run/RUN  /run/RUN/BOOT   the report of a run or of one of its boots
    /compare/A/B              the report of two
    /plot                     a milestone, run by run over the days
    /history                  the same for one product, board and branch, with the changes (history/)
    /live/RUN                 a run that is being recorded; /live/RUN/events sends news as they come
    /search/NAME              the last search of a system; /search/NAME/events as above
    /enter/CODE               lets a browser in (keys.py)
    /static/NAME              styles and scripts

A run is looked up among those in the store: no part of an address ever becomes a path.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from bootscope.capture.store import Store
from bootscope.core.errors import BootscopeError, UserError
from bootscope.core.text import visible
from bootscope.history.series import series
from bootscope.report.history_html import render as render_history
from bootscope.report.stored import page_of
from bootscope.serve import pages, searches
from bootscope.serve.cache import Pages
from bootscope.serve.events import Events
from bootscope.serve.figures import Figures, Known
from bootscope.serve.follow import Follower
from bootscope.serve.guard import COOKIE, Guard
from bootscope.serve.keys import Keys
from bootscope.serve.overview import fitting, overview, plotted, state_of

_NAME = 120
_LIST_S = 2.0
"""How often the list is checked for a page that shows it, in s."""


class Site:
    """The pages of a store."""

    def __init__(self, store: Store, keys: Keys | None, stopping: Callable[[], bool]) -> None:
        self._store, self._keys = store, keys
        self._figures, self._pages, self._events = Figures(store), Pages(store), Events(stopping)

    def routes(self) -> list[Route]:
        """The pages by path."""
        return [
            Route("/", self.runs),
            Route("/events", self.runs_events, methods=["GET"]),
            Route("/plot", self.plot),
            Route("/history", self.history),
            Route("/compare", self.chosen),
            Route("/compare/{a}/{b}", self.compare),
            Route("/run/{run}", self.run),
            Route("/run/{run}/{boot:int}", self.run),
            Route("/live/{run}", self.live),
            Route("/live/{run}/events", self.live_events, methods=["GET"]),
            Route("/search/{name}", self.search),
            Route("/search/{name}/events", self.search_events, methods=["GET"]),
            Route("/enter/{code}", self.enter),
            Route("/static/{name}", self.static),
        ]

    def _found(self) -> list[Known]:
        return self._figures.all()

    def _run_id(self, request: Request, name: str = "run") -> str:
        """The run that an address names. Raises HTTPException if there is none."""
        wanted: str = request.path_params[name]
        if wanted not in self._store.run_ids():
            raise HTTPException(404, f"There is no run {visible(wanted, _NAME)}, or it was deleted.")
        return wanted

    def _searches(self) -> dict[str, bool | None]:
        """The searches by name, and whether each is running."""
        root = self._store.root
        return {name: searches.running(root, name) for name in searches.names(root)}

    def runs(self, request: Request) -> Response:
        """The list of runs."""
        found, there = self._found(), self._searches()
        return pages.page(
            "runs",
            **overview(found, request.query_params),
            searches=[(name, visible(name, _NAME), running) for name, running in there.items()],
            state=state_of(found, there),
        )

    async def runs_events(self, request: Request) -> Response:
        """Sends the list's state: the page reloads when it changes."""

        def look() -> dict[str, Any]:
            return {"state": state_of(self._found(), self._searches())}

        return self._events.stream(look, _LIST_S)

    def plot(self, request: Request) -> Response:
        """A milestone over the days."""
        return pages.page("plot", **plotted(self._found(), request.query_params))

    def history(self, request: Request) -> Response:
        """Where a milestone changed, in the newest series among the requested runs."""
        about = request.query_params.get("about") or None
        runs, pending = fitting(self._found(), request.query_params)
        if pending:  # only a part of them would show changes that do not exist
            words = f"The times of {pending} of {len(runs)} runs are being worked out."
            return pages.trouble(503, "History", words, "reload this page in a moment")
        try:
            return pages.report(render_history(series(runs, about, None)))
        except UserError as error:
            hint = visible(error.hint, 400) if error.hint else None
            return pages.trouble(422, "History", visible(error.message, 400), hint)

    def chosen(self, request: Request) -> Response:
        """The comparison of the two runs ticked in the list, the older one first."""
        asked = {unquote(value) for value in request.query_params.getlist("run")}
        ticked = [run_id for run_id in self._store.run_ids() if run_id in asked]
        if len(ticked) != 2:
            return pages.trouble(400, "Compare", "Tick two runs in the list to compare them.")
        return RedirectResponse(pages.path("compare", *ticked), 303)

    def compare(self, request: Request) -> Response:
        """The report of two runs."""
        a, b = self._run_id(request, "a"), self._run_id(request, "b")
        if a == b:
            return pages.trouble(400, "Compare", "These are the same run.")
        return self._report((a, b), (a, b))

    def run(self, request: Request) -> Response:
        """The report of a run, or of one boot of it; if it is being recorded, its progress."""
        run_id, boot = self._run_id(request), request.path_params.get("boot")
        if boot is None and self._store.is_recording(self._store.runs / run_id):
            return RedirectResponse(pages.path("live", run_id), 303)
        return self._report((run_id if boot is None else f"{run_id}/{min(boot, 999_999)}",), (run_id,))

    def _report(self, names: tuple[str, ...], run_ids: tuple[str, ...]) -> Response:
        try:
            return pages.report(
                self._pages.get(names, run_ids, lambda: page_of(self._store, names, "/").text)
            )
        except (BootscopeError, OSError) as error:
            gone = [run_id for run_id in run_ids if run_id not in self._store.run_ids()]
            if gone:
                raise HTTPException(404, f"{visible(gone[0], _NAME)} has just been deleted.") from error
            if not isinstance(error, BootscopeError):
                raise
            hint = visible(error.hint, 400) if error.hint else None
            return pages.trouble(422, visible(names[0], _NAME), visible(error.message, 400), hint)

    def live(self, request: Request) -> Response:
        """A run that is being recorded."""
        run_id = self._run_id(request)
        return pages.page("live", run_id=run_id, shown=visible(run_id, _NAME))

    async def live_events(self, request: Request) -> Response:
        """Sends news of it as they come."""
        return self._events.stream(Follower(self._store, self._run_id(request)).look)

    def _search_name(self, request: Request) -> str:
        wanted: str = request.path_params["name"]
        if wanted not in searches.names(self._store.root):
            raise HTTPException(404, f"There is no search of {visible(wanted, _NAME)}.")
        return wanted

    def search(self, request: Request) -> Response:
        """The last search of a system."""
        name = self._search_name(request)
        return pages.page("search", name=name, shown=visible(name, _NAME))

    async def search_events(self, request: Request) -> Response:
        """Sends its findings as they come."""
        return self._events.stream(searches.SearchFollower(self._store.root, self._search_name(request)).look)

    def enter(self, request: Request) -> Response:
        """Lets a browser in. The browser then goes on from a page of ours: a cookie with SameSite is not sent
        after a link on another site's page."""
        if self._keys is None:
            return RedirectResponse("/", 303)
        # A request that only looks (a preview of a link) must not use up the code.
        session = self._keys.enter(request.path_params["code"]) if request.method == "GET" else None
        if session is None:
            message = "This address was used before, or is of an earlier server."
            return pages.trouble(
                403, "Not let in", message, "open the address that bootscope serve printed last"
            )
        answer = pages.page("enter")
        answer.set_cookie(COOKIE, session, httponly=True, samesite="strict")
        return answer

    def static(self, request: Request) -> Response:
        """Styles and scripts."""
        found = pages.static(request.path_params["name"])
        if found is None:
            raise HTTPException(404, "There is no such file.")
        return found


def application(
    store: Store, names: frozenset[str], keys: Keys | None, stopping: Callable[[], bool] = lambda: False
) -> Guard:
    """The server's application; `names` are its host names, `keys` decides who may see it (None: everybody
    who can reach it)."""
    handlers: dict[Any, Any] = {HTTPException: _refused}
    return Guard(
        Starlette(routes=Site(store, keys, stopping).routes(), exception_handlers=handlers), names, keys
    )


def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    told = (
        error.detail if error.status_code != 404 or error.detail != "Not Found" else "There is no such page."
    )
    return pages.trouble(error.status_code, "Not found" if error.status_code == 404 else "Refused", told)
