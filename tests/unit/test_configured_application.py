# SPDX-License-Identifier: Apache-2.0
"""An application that its own configure script and makefile build, really: by a tree of two files."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest
from elftools.elf.elffile import ELFFile

from bootscope.arch.registry import ARCHITECTURES
from bootscope.builder.cache import Cache
from bootscope.builder.plan import steps_of, wanted_sources
from bootscope.builder.progress import Progress
from bootscope.builder.sources import Resolved
from bootscope.builder.step import Context
from bootscope.builder.steps import configured_application, unpack
from bootscope.core.errors import ToolError, UserError
from bootscope.system.application import Application, Configured
from bootscope.system.changes import Change, apply
from bootscope.system.load import check_system, folders_beside, load_system

ARM = ARCHITECTURES["arm"]
CONFIGURE = """#!/bin/sh
# A configure script of the usual kind: options as words, flags in the environment.
for word in "$@"; do
	case $word in
	--cross=*) cross=${word#*=} ;;
	--without-sound) sound=0 ;;
	*) echo "configure: unknown option $word"; exit 1 ;;
	esac
done
printf 'CC=%sgcc\\nCFLAGS=%s -DSOUND=%s\\nLDFLAGS=%s\\n' "$cross" "$CFLAGS" "${sound-1}" "$LDFLAGS" > flags
sed -e '/^FLAGS$/{r flags' -e 'd' -e '}' "${0%/*}/Makefile.in" > Makefile
"""
MAKEFILE = """FLAGS
player: ../tree/player.c
\t$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $<
link: player
\tln -s player link
"""
PROGRAM = "int sound = SOUND;\nint main(void) { return sound; }\n"


def built(tmp_path: Path, application: Application, configured: Configured, ccache: bool = False) -> Path:
    tree = tmp_path / "unpacked" / unpack.TREE
    tree.mkdir(parents=True)
    for name, text in (("configure", CONFIGURE), ("Makefile.in", MAKEFILE), ("player.c", PROGRAM)):
        (tree / name).write_text(text)
    (tree / "configure").chmod(0o755)
    for name in ("scratch", "out"):
        (tmp_path / name).mkdir()
    step = configured_application.step(application, configured, ARM)
    results, cache = {f"unpack-{configured.source}": tree.parent}, Cache(tmp_path / "cache")
    context = Context(results, tmp_path / "scratch", tmp_path / "out", cache, Progress(), 1, ccache)
    step.work(context)
    return tmp_path / "out"


def program(**more: object) -> Application:
    return Application(process="player", sources="", path="/usr/bin/player", **more)  # type: ignore[arg-type]


def player(*options: str, makes: str = "player") -> Configured:
    return Configured(source="player", options=("--cross={prefix}", *options), makes=makes)


@pytest.mark.parametrize("ccache", [False, True])
def test_the_tree_is_configured_for_the_target_and_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ccache: bool
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/ccache").write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/asked\nexec "$@"\n')
    (tmp_path / "bin/ccache").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    out = built(tmp_path, program(compiler_options=("-O2", "-static")), player("--without-sound"), ccache)
    with (out / "program").open("rb") as opened:
        elf = ELFFile(opened)
        assert elf["e_machine"] == "EM_ARM"
        assert not list(elf.iter_segments("PT_INTERP"))  # linked as the options say
    assert " sound" in (out / "program.map").read_text()
    assert (out / "program").stat().st_size < (out / "program-whole").stat().st_size  # stripped
    assert (tmp_path / "asked").exists() == ccache


def test_an_option_that_its_script_does_not_know_is_told_with_its_words(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="unknown option --without-colour"):
        built(tmp_path, program(), player("--without-colour"))


def test_what_make_leaves_must_be_the_program_itself(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="make left no program link"):
        built(tmp_path, program(), player(makes="link"))


def test_the_player_of_the_stock_system_is_one() -> None:
    loaded = load_system("stock-player")
    assert list(folders_beside(loaded.system)) == ["rootfs.overlay"]
    wanted = wanted_sources(loaded)
    assert "ffmpeg" in [one.name for one in wanted]
    found = {one.name: Resolved("", "0" * 64, "here", "1") for one in wanted}
    steps = {step.name: step for step in steps_of(loaded, found)}
    assert steps["application"].needs == ("unpack-ffmpeg",)
    # An option more makes the application again, and no kernel.
    change = Change(settings={"application.configured.options": ("...", "--disable-network")})
    system = apply(loaded.system, {"options": change})
    assert isinstance(system.application.configured, Configured)
    assert system.application.configured.options[-2:] == ("--disable-ffprobe", "--disable-network")


@pytest.mark.parametrize(
    ("configured", "more", "key"),
    [
        (player(), {}, "application.configured.source"),
        (Configured(source="ffmpeg", makes="/bin/sh"), {}, "application.configured.makes"),
        (Configured(source="ffmpeg", makes="../x"), {}, "application.configured.makes"),
        (Configured(source="ffmpeg", makes="--version"), {}, "application.configured.makes"),
        (Configured(source="ffmpeg", makes="ffmpeg"), {"sources": "stock/app"}, "application.sources"),
        (Configured(source="ffmpeg", makes="ffmpeg"), {"libc": "musl"}, "application.libc"),
    ],
)
def test_what_cannot_be_together_is_refused(configured: Configured, more: dict[str, str], key: str) -> None:
    loaded = load_system("stock-player")
    application = msgspec.structs.replace(loaded.system.application, configured=configured, **more)
    with pytest.raises(UserError, match=key.replace(".", r"\.")):
        check_system(msgspec.structs.replace(loaded.system, application=application), loaded.path)
