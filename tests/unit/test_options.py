# SPDX-License-Identifier: Apache-2.0
"""An option that does not apply is refused: passed over it would be a wish that nobody granted.

Every option of every verb is here: it either always applies, or something refuses it.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from bootscope.capture.store import Store
from bootscope.cli import board_options
from bootscope.cli.common import option_of
from bootscope.cli.parsers import parser, verb_parser
from bootscope.cli.verbs import VERBS

from ..fixtures.stock_boot import unpack
from .builders import BOOT, ROOT, keep_run
from .conftest import Command
from .test_cli import assert_refused

REAL = {
    "--rate": ["9600"], "--tap-host": ["pc"], "--until-text": ["x"], "--until-silence": ["1"],
    "--until-time": ["1"], "--power-on": ["./on.sh"], "--power-off": ["./off.sh"], "--by-hand": [],
    "--power-after": ["off"], "--labgrid-client": ["x"], "--labgrid-env": ["x"], "--labgrid-state": ["x"],
    "--labgrid-port": ["x"], "--labgrid-wait": ["0"],
}  # fmt: skip
FARM = {name: words for name, words in REAL.items() if "labgrid" in name}
TRIAL = {
    "--board": ["b.toml"], "-n": ["2"], "--rounds": ["2"], "--until": ["login"], "--timeout": ["9"],
    "--value": ["a=b"], **REAL,
}  # fmt: skip
BUILD = {"--jobs": ["2"], "--no-ccache": []}
CLUSTER = {"--cluster": ["local:2"]}
YOCTO = {"--series": ["x"], "--kernel-recipe": ["x"], "--uboot-recipe": ["x"]}
IMPORT = {
    "--as": ["x"], "-o": ["x"], "--kind": ["bare"], "--machine": ["x"], "--image": ["x"], "--build": ["x"],
    "--shell": [], "--board": ["x"], "--deploy": ["x"], "--product": ["x"], "--check": ["x"],
    "--changes": ["x"], **YOCTO,
}  # fmt: skip
COMMENT = {"--comment-on": ["7"], "--comment-name": ["x"]}
TOLD = {
    "--junit": ["x"], "--gitlab": ["x"], "--github": [], "--lava": [], "--kcidb": ["x"], "--file": ["x"],
    "--markdown": ["x"], "--product": ["x"], "--label": ["a=b"], "--comment": ["github"],
    "--webhook": ["https://example.org"], **COMMENT,
}  # fmt: skip
OF_FILES = {
    "--format": ["dmesg"], "--stamp": ["first-byte"], "--option": ["a=b"], "--offset": ["a=1"],
    "--milestone": ["a=b"], "--run": ["x"], "--keep-going": [], "--dry-run": [], "--name": ["x"],
    "--label": ["a=b"],
}  # fmt: skip

IMAGE = {"--append": ["x"], "--through": ["kernel"], "--machine": ["x"]}
NAMED_IMAGE = {
    "--append": ["x"], "--through": ["kernel"], "--until": ["login"], "--until-text": ["x"],
    "--application": ["/x"], "--kernel-config": ["x"],
}  # fmt: skip

REFUSED: list[tuple[list[str], dict[str, list[str]], str]] = [
    (["record", "stock"], IMAGE, "is for an image that is built already"),
    (["record", "--board", "serial:x"], IMAGE, "is for an image that is built already"),
    (["record", "stock"], REAL, "is for a real board; stock boots on an emulated one"),
    (["record", "--board", "serial:x"],
     {"--board-timeout": ["5"], "--hang-timeout": ["5"], "--no-explain": [], "--timing": [],
      "--probe": ["kfree"], "--syscalls": [], "--counts": [],
      "--core": ["cortex-a8"], **BUILD},
     "is for systems on an emulated board"),
    (["record", "--board", "serial:x"], FARM, "is for a board of a labgrid farm"),
    (["record", "--board", "serial:x"], CLUSTER, "takes a board of a labgrid farm"),
    (["try", "kernel-quiet"], TRIAL, "is for imported systems on a real board; stock boots on an emulated"),
    (["optimize", "stock"], TRIAL, "is for imported systems on a real board; stock boots on an emulated"),
    (["try", "kernel-quiet", "--force", "--system", "mine"], {"--own-base": []}, "is for systems of the"),
    (["try", "kernel-quiet", "--force", "--system", "mine"], BUILD, "is for systems that bootscope builds"),
    (["optimize", "mine"], {"--pareto": [], "--beside": ["usb"]}, "is for systems of the emulated board"),
    (["optimize", "mine"], {"--groups": []}, "is for systems of the emulated board"),
    (["optimize", "mine"], BUILD, "is for systems that bootscope builds; mine has its own build command"),
    (["optimize", "mine"], CLUSTER, "is for systems that bootscope builds and boots on the emulated board"),
    (["try", "kernel-quiet", "--force", "--system", "mine"], CLUSTER, "is for systems that bootscope builds"),
    (["reproduce", "quiet", "--stored"], CLUSTER, "is for a build; --stored builds nothing"),
    (["build", "mine"], BUILD, "is for systems that bootscope builds; mine has its own build command"),
    (["system", "list"], IMPORT, "is for import"),
    (["system", "show", "mine"], IMPORT, "is for import"),
    (["system", "rm", "mine"], IMPORT, "is for import"),
    (["system", "import", "tree", "--as", "other"], NAMED_IMAGE, "is for an image"),
    (["audit"], {"--board": ["q35"], **BUILD}, "is for an image that is built already"),
    (["save", "last", "-o", "x.bsz"], {"--label": ["a=b"]}, "chooses among all runs"),
    (["history", "--by", "run"], {"--tree": ["."]}, "orders commits; --by run does not"),
    (["schema", "board"], {"--output": ["x"]}, "writes the schemas of all kinds"),
    (["system", "import", "tree", "--as", "other"], YOCTO, "is for yocto; tree was built by"),
    (["apply", "kernel-quiet", "--to", "files", "x"], YOCTO, "is for yocto, not for files"),
    (["cache"], {"--limit": ["5G"]}, "is for prune"),
    (["cache", "show"], {"--limit": ["5G"]}, "is for prune"),
    (["check", "--save-baseline", "b.json"], TOLD, "--save-baseline checks nothing"),
    (["check"], COMMENT, "goes with --comment"),
    (["check"], {"--kcidb-origin": ["x"], "--kcidb-build": ["x"]}, "goes with --kcidb FILE"),
    (["import", "--formats"], OF_FILES, "applies to files; --formats reads none"),
    (["export", "--formats"], {"--format": ["svg"], "--output": ["x"]}, "--formats writes none"),
    (["export", "--formats"], {"--debug": ["vmlinux"]}, "--formats writes none"),
    (["export", "--formats"], {"--core": ["cortex-a8"], "--stalls": []}, "--formats writes none"),
    (
        ["techniques", "kernel-quiet"],
        {"--phase": ["kernel"], "--for": ["arm"], "--status": ["obsolete"]},
        "is for the list",
    ),
    (["pitfalls", "savings-overlap"], {"--kind": ["build"]}, "is for the list"),
    (["reproduce"], {"--stored": [], **BUILD}, "needs a table"),
    (["reproduce", "quiet", "--stored"], BUILD, "is for a build; --stored builds nothing"),
    (["help", "ci"], {"--folder": []}, "prints the folder of all documents"),
    (["show"], {"--phase": ["kernel"]}, "needs --view"),
    (["show"], {"--to": ["init"]}, "goes with --view critical-path"),
    (["show"], {"--sort": ["total"]}, "needs --view"),
    (["compare", "last~1", "last"], {"--sort": ["change"]}, "needs --view"),
    (["image", "x.img"], {"--machine": ["m"]}, "is for the folder of a build"),
    (["compare", "last~1", "last"], {"--milestone": ["init"]}, "is for runs whose boots vary"),
    (["report", "-o", "x.html"], {"--view": ["flame"], "--width": ["800"]}, "is for pictures"),
    (["report", "-o", "x.html"], {"--theme": ["dark"], "--stalls": []}, "is for pictures"),
    (["debug", "last", "--at", "init", "--listen", "1"], {"--run": ["bt"]}, "is for gdb as"),
    (["debug", "last", "--at", "init"], {"--gdb": ["gdb"]}, "goes with --run or --listen"),
    (["debug", "last", "--at", "init", "--json"], {"--listen": ["1"]}, "has no JSON output"),
    (["report", "-o", "x.svg"], {"--scale": ["2"], "--picture": ["y.svg"]}, "is for"),
]  # fmt: skip
CASES = [
    ([*words, option, *values], option, why)
    for words, options, why in REFUSED
    for option, values in options.items()
]

ALWAYS = {
    "record": "board n until timeout label", "show": "boot board core view top watch",
    "what-if": "board core jobs no_ccache", "debug": "at jobs no_ccache",
    "calibrate": "board like output top core", "compare": "top view core", "check": "save_baseline",
    "report": "output core", "serve": "host port token", "rm": "failed dry_run",
    "list": "system board kind since label sort top", "audit": "all losses pitfalls top core",
    "export": "formats",
    "import": "formats", "build": "plan", "try": "system force check",
    "optimize": "goal keep budget only ablate resume o", "reproduce": "",
    "trim": "only budget keep_symbol services quiet sure bare all o cluster jobs no_ccache",
    "image": "output", "save": "all output",
    "history": "milestone phase by system board label since least top output",
    "bisect": "tree good bad config packages files milestone phase by all resume output cluster jobs "
    "no_ccache",
    "apply": "to system name force dry_run value", "completion": "line",
    "soak": "board n seed since after until timeout board_timeout o label jobs no_ccache",
}  # fmt: skip
"""Options that apply in each way to call a verb, or are what chooses the way. `record`'s --until and
--timeout do on both kinds of board."""


@pytest.fixture
def there(store: Store, tmp_path: Path, main_here: Command) -> None:
    """Two recordings, and an imported system called `mine`."""
    unpack(store)
    keep_run(store, BOOT)
    keep_run(store, BOOT, day=28)
    (tmp_path / "tree" / "linux").mkdir(parents=True)
    config = "# Linux/arm 6.1.0 Kernel Configuration\nCONFIG_ARM=y\nCONFIG_PRINTK=y\n"
    (tmp_path / "tree" / "linux" / ".config").write_text(config)
    words = ["--as", "mine", "--build", "make", "--deploy", "x", "--board", "serial:x"]
    assert main_here("system", "import", "tree", *words).returncode == 0


def files(folder: Path) -> list[Path]:
    """All that is there, but for what only makes reading faster."""
    return sorted(path for path in folder.rglob("*") if not path.name.startswith("index.sqlite"))


@pytest.mark.usefixtures("there")
@pytest.mark.parametrize(("words", "option", "why"), CASES, ids=[" ".join(case[0]) for case in CASES])
def test_an_option_that_does_not_apply_is_refused(
    main_here: Command, words: list[str], option: str, why: str, tmp_path: Path
) -> None:
    before = files(tmp_path)
    assert_refused(main_here(*words), f"bootscope: {option} ", why)
    assert files(tmp_path) == before


@pytest.mark.usefixtures("there")
@pytest.mark.parametrize(
    "words", [("try", "uboot-bootdelay", "--force", "--system", "mine"), ("optimize", "mine")]
)
def test_too_few_boots_to_compare_are_refused_before_the_first(
    main_here: Command, words: tuple[str, ...], tmp_path: Path
) -> None:
    before = files(tmp_path)
    done = main_here(*words, "-n", "2")
    assert_refused(done, "-n 2: too few boots of each variant to compare", "at least 3; 10 are a good start")
    assert files(tmp_path) == before
    # With three, the board itself is the next to be missing.
    assert "too few" not in main_here(*words, "-n", "3").stderr


def options_of(verb: str) -> Iterator[str]:
    """The options of a verb by their names in the result of the parser."""
    top = parser([verb])
    (verbs,) = (a for a in top._actions if isinstance(a, argparse._SubParsersAction))
    for action in verbs.choices[verb]._actions:
        if action.option_strings and action.dest not in ("help", "json"):
            yield action.dest


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_always_applies_or_is_refused_somewhere(verb: str) -> None:
    refused = {option for words, option, _ in CASES if words[0] == verb}
    always = set(ALWAYS.get(verb, "").split())
    names = {option_of(name): name for name in options_of(verb)}
    assert set(names) == refused | {option_of(name) for name in always}


def test_the_options_of_real_boards_are_all_known() -> None:
    known = argparse.ArgumentParser()
    board_options.add_options(known)
    added = {action.dest for action in known._actions} - {"help"}
    assert added == set(board_options.REAL_OPTIONS)
    assert {option_of(name) for name in board_options.REAL_OPTIONS} == set(REAL)


def test_the_reproducer_boots_nothing(main_here: Command, tmp_path: Path) -> None:
    shutil.copy(ROOT / "README.md", tmp_path / "on.sh")
    done = main_here("record", "stock", "--power-on", "./on.sh")
    assert_refused(done, "--power-on is for a real board", "leave out the system: --board serial:")
    assert not (tmp_path / "store").exists()


# ---- power ----


@pytest.mark.parametrize(("on", "off", "message", "hint"), [
    ("./nope.sh", "true", "power on: ./nope.sh is not there", "such as ./on.sh"),
    ("true", "no-such-switch 1", "power off: no-such-switch is not there", "such as ./off.sh"),
    ("./plain", "true", "power on: ./plain is not executable", "chmod +x ./plain"),
    ("./folder", "true", "power on: ./folder is not executable", ""),
    ("./\x1b[31m", "true", r"power on: ./\x1b[31m is not there", ""),
])  # fmt: skip
def test_a_wrong_path_of_a_switch_is_named(
    main_here: Command,
    tmp_path: Path,
    on: str,
    off: str,
    message: str,
    hint: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    (tmp_path / "folder").mkdir()
    done = main_here("record", "--board", "serial:/dev/null", "--power-on", on, "--power-off", off)
    assert_refused(done, message, hint)
    assert "doctor" not in done.stderr
    if on.isprintable():
        power = f"[power]\non = {json.dumps(on.split())}\noff = {json.dumps(off.split())}\n"
        (tmp_path / "b.toml").write_text(f"[console]\nport = '/dev/null'\n{power}")
        assert_refused(main_here("record", "--board", "b.toml"), message, hint)


@pytest.mark.parametrize(
    ("verb", "old", "new", "value"),
    [
        (("record", "--board", "serial:x"), "--leave", "--power-after", "off"),
        (("system", "import", "x", "--as", "y"), "--works", "--check", "true"),
        (("record", "stock"), "--limit", "--board-timeout", "5"),
        (("record", "stock"), "--hang", "--hang-timeout", "5"),
        (("import", "x"), "-o", "--name", "y"),
        (("import", "x"), "--output", "--name", "y"),
        (("trim", "stock"), "--keep", "--keep-symbol", "CONFIG_X"),
        (("optimize", "stock"), "--goal=2000", "--goal=2s", ""),
        (("optimize", "stock"), "--ablate", "--without-each", ""),
    ],
)
def test_the_earlier_spelling_of_an_option_means_the_same(
    verb: tuple[str, ...], old: str, new: str, value: str
) -> None:
    def meant(*options: str) -> dict[str, object]:
        words = [word for word in (*verb, *options) if word]
        return {name: given for name, given in vars(parser().parse_args(words)).items() if name != "do"}

    assert meant(old, value) == meant(new, value) != meant()
    if old.partition("=")[0] != new.partition("=")[0]:
        assert not re.search(rf"{old}\b(?!-)", verb_parser(verb[0]).format_help())
