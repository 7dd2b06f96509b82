# SPDX-License-Identifier: Apache-2.0
"""Start scripts with fewer processes: the lines that change, and what a shell makes of both."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.core.errors import UserError
from bootscope.inventory.inventory import Absent
from bootscope.inventory.script_rewrites import FOUND, KINDS, rewritten, shown
from bootscope.techniques.model import technique

from .known_builders import inventory_of

SAME = {
    "piped": [
        "cat numbers | grep two",
        'x="$(cat numbers | tail -n 1)"; echo "$x"',
        "x=$(cat numbers | tail -n 1); echo $x",
        "if cat numbers | grep -q two; then echo there; fi",
        "test -f numbers && cat numbers | sed -e 's/o/0/g' | sort",
        "true; cat numbers | wc -l > count; echo $(cat numbers | grep -c o)",
    ],
    "tested": [
        """if [ $(expr match "$(cat line)" '.* debug.*') -ne 0 -o -f nothing ]; then echo yes; fi""",
        """[ "$(expr "$(cat line)" : '.*quiet.*')" -gt 0 ] && echo quiet""",
        """word=single; [ $(expr match "$(cat line)" ".*$word.*") -ne 0 ] || echo no""",
    ],
    "forking": [
        'n=4; echo $(expr $n + 1) `expr $n - 1` $(expr 2 \\* "$n") $(expr $n / 3) $(expr 9 % $n)',
        "set -- 7; echo $(expr $1 + 1)",
        'f=/a/b.c; echo $(basename $f) `basename "$f"`',
        "/usr/bin/test 1 -gt 0 && /bin/echo yes; if /usr/bin/test a = b; then /usr/bin/printf no; fi",
    ],
}
OTHER = {
    "piped": [
        "cat a b | grep x",
        "cat -n a | grep x",
        "cat $files | grep x",
        "cat a | while read x; do echo $x; done",
        "cat a | { read x; }",
        "echo cat a | grep x",
        "zcat a | grep x",
        "echo 'usage: it; cat a | grep x'",
        'echo "usage; cat a | grep x"',
        "cat a || true",
        "# cat a | grep x",
    ],
    "tested": ['[ "$(cat a)" = b ]', "expr match a b", """[ $(expr match "$(cat a)" 'b.*') -ne 0 ]"""],
    "forking": [
        "echo expr 1 + 2",
        "$(expr length abc)",
        "$(expr 010 + 1)",
        "/bin/echoes",
        "$(basename $a .c)",
        "echo '; /bin/echo x'",
        "echo '$(expr 1 + 2)'",
    ],
}


def changed(line: str, kind: str) -> str:
    made = rewritten({"/etc/init.d/S01it": f"#!/bin/sh\n{line}\n"}, kind)
    return made.text.split("\n")[1] if made else line


def said(line: str, folder: Path) -> tuple[str, int]:
    done = subprocess.run(["sh", "-c", line], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout, done.returncode


@pytest.mark.parametrize(("kind", "line"), [(kind, line) for kind, lines in SAME.items() for line in lines])
def test_a_line_does_the_same_as_before(tmp_path: Path, kind: str, line: str) -> None:
    (tmp_path / "numbers").write_text("one\ntwo\nthree\nfour\n")
    (tmp_path / "line").write_text("console=ttyS0 debug quiet\n")
    new = changed(line, kind)
    assert new != line
    assert not any(
        word in new for word in ("cat ", "expr ", "basename ", "/bin/")[0 if kind != "piped" else 1 :]
    )
    assert said(new, tmp_path) == said(line, tmp_path)


@pytest.mark.parametrize(("kind", "line"), [(kind, line) for kind, lines in OTHER.items() for line in lines])
def test_what_may_not_be_the_same_stays(kind: str, line: str) -> None:
    assert changed(line, kind) == line


def test_the_script_that_gains_most_is_taken() -> None:
    scripts = {
        "/etc/init.d/S01a": "cat a | wc\n",
        "/etc/init.d/S02b": "cat a | wc\ncat b | wc\n",
        "/c": "wc a\n",
    }
    made = rewritten(scripts, "piped")
    assert made
    assert (made.path, made.programs, made.first) == ("/etc/init.d/S02b", 2, "cat a | wc")
    assert made.text == "< a wc\n< b wc\n"
    assert rewritten({"/c": "wc a\n"}, "piped") is None


def test_text_for_other_programs_is_no_command() -> None:
    text = "cat > file <<EOF\ncat a | wc\nEOF\ncat a | wc\n"
    made = rewritten({"/a": text}, "piped")
    assert made
    assert made.text == "cat > file <<EOF\ncat a | wc\nEOF\n< a wc\n"


def test_text_over_several_lines_is_no_command() -> None:
    text = "echo 'first\ncat a | wc\nlast'\ncat a | wc\n"
    made = rewritten({"/a": text}, "piped")
    assert made
    assert made.text == "echo 'first\ncat a | wc\nlast'\n< a wc\n"


def test_who_has_no_such_line_is_told_so() -> None:
    known = inventory_of(scripts={"/etc/init.d/S01it": "#!/bin/sh\n"})
    assert shown("piped")(known) == ""
    with pytest.raises(Absent):
        FOUND["piped_text"](known)
    with pytest.raises(UserError, match="not known"):
        FOUND["piped_text"](inventory_of())
    assert shown("piped")(inventory_of()) is None


@pytest.mark.parametrize(
    ("name", "kind", "programs"),
    [
        ("shell-avoid-pipes", "piped", 3),
        ("shell-collapse-tests", "tested", 4),
        ("shell-use-builtins", "forking", 4),
    ],
)
def test_each_technique_has_a_base_that_needs_it(name: str, kind: str, programs: int) -> None:
    made = rewritten(technique(name).recipes["rewritten"].base.write, kind)
    assert made
    assert made.programs == programs
    assert rewritten({made.path: made.text}, kind) is None


@given(st.text(st.sampled_from("cat a|`$(expr 1+)\"'[]\\\n<EOF.*matchbasename/"), max_size=400))
@settings(max_examples=200, deadline=None)
def test_any_text_is_read(text: str) -> None:
    for kind in KINDS:
        made = rewritten({"/a": text}, kind)
        assert made is None or made.text.count("\n") == text.count("\n")
