# SPDX-License-Identifier: Apache-2.0
"""bootscope serve: the store in a browser."""

from __future__ import annotations

import argparse
import importlib.util

from bootscope.cli.arguments import flag, option
from bootscope.cli.stores import open_store
from bootscope.cli.verb import Verb, print_json
from bootscope.core import hints
from bootscope.core.errors import UserError, to_stderr
from bootscope.core.needs import SERVER_PACKAGES


class Serve(Verb):
    example = "bootscope serve --port 8000"

    def options(self, parser: argparse.ArgumentParser) -> None:
        option(
            parser,
            "--host",
            "H",
            "listen at this name or address of this computer; others need a token then (default 127.0.0.1: "
            "only this computer)",
        )
        option(parser, "--port", "P", "listen at this port; 0 is any free one (default 8734)", type=int)
        flag(parser, "--token", "ask for a token on this computer, too")

    def run(self, args: argparse.Namespace) -> int:
        missing = [name for name in SERVER_PACKAGES if importlib.util.find_spec(name) is None]
        if missing:
            packages = f"package{'s' if len(missing) > 1 else ''} {' and '.join(missing)}"
            raise UserError(f"serve needs the Python {packages}", hint=hints.server())
        # Other verbs need not load the server's libraries.
        from bootscope.serve.guard import ENTER
        from bootscope.serve.keys import Keys
        from bootscope.serve.place import LOOPBACK, PORT, open_place
        from bootscope.serve.server import serve

        store = open_store()
        place = open_place(
            LOOPBACK if args.host is None else args.host, PORT if args.port is None else args.port
        )
        address, keys = place.address, None
        if args.token or not place.local:
            keys = Keys(lambda code: to_stderr(f"open (works once): {address}{ENTER}{code}"))
        if args.json:
            print_json("serve", {"address": address, "token": keys.token if keys else None})
        else:
            print(f"{store.root} at {address}/ until Ctrl-C", flush=True)
            print(f"token for scripts: {keys.token}" if keys else "only this computer can see it", flush=True)
        if not place.local:
            to_stderr("others can reach it over an unencrypted line: use it in a network that you trust")
        if keys:
            keys.renew()
        serve(store, place, keys)
        return 0
