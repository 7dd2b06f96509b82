# SPDX-License-Identifier: Apache-2.0
"""All start scripts as one do what they do one by one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bootscope.inventory.single_script import single_script
from bootscope.inventory.start_scripts import StartScripts

SCRIPTS = {
    "S01plain": "#!/bin/sh\n# mounts\necho plain\n",
    "S05guard": '#!/bin/sh\n[ "$1" = start ] || exit 0\necho guarded $1\n',
    "S10functions": """#!/bin/sh
DAEMON=one
start() {
\techo "start $DAEMON"
}
stop() {
\techo "stop $DAEMON"
}
case "$1" in
  start|stop)
\t"$1"
\t;;
  *)
\techo "Usage: $0 {start|stop}"
\texit 1
esac

exit $?
""",
    "S20moves": '#!/bin/sh\ncd /\numask 077\n[ "$1" = start ] && pwd\nfalse || exit 3\n',
    "S30text": "#!/bin/sh\ncat <<END\n# not a comment\nEND\nset -e\nfalse\necho never\n",
    "S40last": "#!/bin/sh\necho last $1; pwd; umask\n",
}


def start_scripts(texts: dict[str, str]) -> StartScripts:
    return StartScripts.of({f"/etc/init.d/{name}": text for name, text in texts.items()}, "/usr/bin/app")


def run(folder: Path, text: str, *words: str) -> str:
    script = folder / "script"
    script.write_text(text)
    return subprocess.run(["/bin/sh", script, *words], cwd=folder, capture_output=True, text=True).stdout


def test_one_script_prints_what_all_print(tmp_path: Path) -> None:
    one_by_one = [run(tmp_path, text, "start") for text in SCRIPTS.values()]
    merged = "#!/bin/sh\n" + single_script(start_scripts(SCRIPTS))
    assert run(tmp_path, merged) == "".join(one_by_one)


@pytest.mark.parametrize(
    "text",
    [
        "#!/usr/bin/python3\nprint(1)\n",
        "#!/bin/bash\necho ${PATH//:/ }\n",
        "#!/bin/sh\nlogger -t $(basename $0) hello\n",
    ],
    ids=["no-shell", "other-shell", "own-name"],
)
def test_what_needs_a_process_of_its_own_is_not_merged(text: str) -> None:
    assert single_script(start_scripts({**SCRIPTS, "S50own": text})) == ""


def test_without_start_scripts_there_is_nothing_to_merge() -> None:
    assert single_script(start_scripts({})) == ""
