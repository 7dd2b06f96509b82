# SPDX-License-Identifier: Apache-2.0
"""bootscope completion: what a shell needs to complete verbs, options and names."""

from __future__ import annotations

import argparse

from bootscope.cli.verb import Verb, print_json
from bootscope.cli.verbs import VERBS

_BASH = """\
_bootscope() {
    local current="${COMP_WORDS[COMP_CWORD]}" verb="${COMP_WORDS[1]}"
    local previous="${COMP_WORDS[COMP_CWORD-1]}" words
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="$(bootscope completion --words verbs 2>/dev/null)"
    elif [[ "$current" == -* ]]; then
        words="$(bootscope "$verb" --help 2>/dev/null | grep -o -- '--[a-z][a-z-]*' | sort -u)"
    elif [ "$previous" = --board ]; then
        words="$(bootscope completion --words boards 2>/dev/null)"
    elif [ "$previous" = --like ]; then
        words="$(bootscope completion --words runs 2>/dev/null)"
    elif [ "$previous" = --tap-host ]; then
        words="auto"
    else
        case "$verb" in
        reproduce) words="$(bootscope completion --words tables 2>/dev/null)" ;;
        record) words="$(bootscope completion --words systems 2>/dev/null)" ;;
        build | optimize)
            words="$(bootscope completion --words systems 2>/dev/null)
                $(bootscope completion --words trees 2>/dev/null)"
            ;;
        system)
            if [ "$COMP_CWORD" -eq 2 ]; then
                words="import list show rm"
            elif [ "${COMP_WORDS[2]}" != import ]; then
                words="$(bootscope completion --words trees 2>/dev/null)"
            fi
            ;;
        try)
            if [ "$previous" = --system ]; then
                words="$(bootscope completion --words systems 2>/dev/null)
                    $(bootscope completion --words trees 2>/dev/null)"
            else
                words="$(bootscope completion --words techniques 2>/dev/null)"
            fi
            ;;
        apply)
            if [ "$previous" = --to ]; then
                words="buildroot yocto openwrt files"
            elif [ "$previous" = --system ]; then
                words="$(bootscope completion --words trees 2>/dev/null)"
            else
                words="$(bootscope completion --words techniques 2>/dev/null)"
            fi
            ;;
        show | what-if | calibrate | compare | check | report | export | rm)
            words="$(bootscope completion --words runs 2>/dev/null)"
            ;;
        esac
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o default -F _bootscope bootscope
"""
_ZSH = "autoload -U +X bashcompinit && bashcompinit\n" + _BASH


class Completion(Verb):
    name = "completion"
    summary = "print shell completion for bash or zsh"
    example = 'eval "$(bootscope completion bash)"'

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("shell", nargs="?", choices=("bash", "zsh"), default="bash")
        parser.add_argument(
            "--words",
            choices=("verbs", "systems", "boards", "runs", "tables", "trees", "techniques"),
            help=argparse.SUPPRESS,
        )

    def run(self, args: argparse.Namespace) -> int:
        text = "\n".join(self._words(args.words)) if args.words else (_ZSH if args.shell == "zsh" else _BASH)
        if args.json:
            print_json("completion", {"text": text})
        else:
            print(text)
        return 0

    def _words(self, what: str) -> list[str]:
        return list(VERBS) if what == "verbs" else _names(what)


def _names(what: str) -> list[str]:
    """What there is of a kind. Somebody waits at a prompt: only what is asked for is loaded."""
    if what == "runs":
        from bootscope.capture.naming import names_of
        from bootscope.capture.store import Store
        from bootscope.paths import store_dir

        ids = Store(store_dir()).run_ids()
        return ["last", "last~1", *names_of(ids), *ids]
    if what == "trees":
        from bootscope.buildtrees.keep import tree_names

        return tree_names()
    if what == "techniques":
        from bootscope.techniques.model import technique_ids

        return technique_ids()
    if what == "tables":
        from bootscope.techniques.tables import table_ids

        return table_ids()
    if what == "systems":
        from bootscope.system.load import system_names

        return system_names()
    from bootscope.boards.profile import board_names

    return board_names()
