# SPDX-License-Identifier: Apache-2.0
"""bootscope completion: what a shell needs to complete verbs, options and names."""

from __future__ import annotations

import argparse

from bootscope.cli.arguments import Parser, flag
from bootscope.cli.complete import candidates
from bootscope.cli.verb import Verb, print_json
from bootscope.core.errors import UserError, printable

# bash splits words at '='; zsh and fish do not. Where bootscope has no words, the shell completes files.
_BASH = """\
_bootscope() {
    local line="${COMP_LINE:0:COMP_POINT}" word
    local -a words
    COMPREPLY=()
    read -ra words <<< "$line"
    [[ "$line" == *[[:space:]] ]] && words+=("")
    local current="${words[${#words[@]}-1]}"
    while IFS=$'\\t' read -r word _; do
        # bash has already what stands before the last '=' or ':'.
        case "$current" in
        *[=:]*) word="${word#"${current%"${current##*[=:]}"}"}" ;;
        esac
        COMPREPLY+=("$word")
    done < <("${words[0]}" completion --line bash -- "${words[@]:1}" 2> /dev/null)
}
complete -o default -F _bootscope bootscope
"""
_ZSH = """\
#compdef bootscope
_bootscope() {
    local -a found
    local word meaning
    while IFS=$'\\t' read -r word meaning; do
        found+=("${word//:/\\\\:}${meaning:+:$meaning}")
    done < <("${words[1]}" completion --line zsh -- "${(@)words[2,CURRENT]}" 2> /dev/null)
    if (( ${#found} )); then
        _describe bootscope found
    else
        _files
    fi
}
compdef _bootscope bootscope
"""
_FISH = """\
function __bootscope_complete
    set -l line (commandline --tokenize --cut-at-cursor --current-process)
    set -l current (commandline --current-token --cut-at-cursor)
    set -l found (command $line[1] completion --line fish -- $line[2..-1] "$current" 2> /dev/null)
    if set -q found[1]
        printf '%s\\n' $found
    else
        __fish_complete_path "$current"
    end
end
complete --command bootscope --no-files --arguments '(__bootscope_complete)'
"""
SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


class Completion(Verb):
    example = 'eval "$(bootscope completion bash)"   (fish: bootscope completion fish | source)'

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("shell", nargs="?", choices=tuple(SCRIPTS), default="bash")
        # The scripts call: completion --line SHELL -- the words up to the cursor
        flag(parser, "--line", argparse.SUPPRESS)
        parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
        if isinstance(parser, Parser):
            parser.after_dashes = "words"

    def run(self, args: argparse.Namespace) -> int:
        if args.line:
            found = candidates(args.words or [""])
            text = "".join(f"{word}\t{' '.join(meaning.split())}".rstrip() + "\n" for word, meaning in found)
        elif args.words:
            raise UserError(f"completion does not take {printable(' '.join(args.words))}")
        else:
            text = SCRIPTS[args.shell]
        if args.json:
            print_json("completion", {"text": text})
        else:
            print(text, end="")
        return 0
