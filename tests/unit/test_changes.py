# SPDX-License-Identifier: Apache-2.0
"""Changes to a system: what they do, which of them go together, and that their order does not matter then."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bootscope.core.errors import UserError
from bootscope.system.changes import Change, Settings, apply, conflicts
from bootscope.system.model import System
from bootscope.system.small_init import SmallInit

from .lab_scenes import stock

STOCK = stock().system


def changed(change: Change, base: System = STOCK) -> System:
    return apply(base, {"it": change})


def with_line(line: str) -> System:
    """The stock system with another command line."""
    kernel = msgspec.structs.replace(STOCK.kernel, command_line=line)
    return msgspec.structs.replace(STOCK, kernel=kernel)


def clash(**changes: Change) -> list[tuple[str, str, str]]:
    """The conflicts, which are the same with the changes the other way round."""
    backwards = dict(reversed(changes.items()))
    assert {key for _, _, key in conflicts(backwards)} == {key for _, _, key in conflicts(changes)}
    return conflicts(changes)


# ---- one change ----


def test_a_path_is_a_file_or_a_link() -> None:
    with pytest.raises(ValueError, match=r"/etc/\\x1bX is in both write and link"):
        Change(write={"/etc/\x1bX": "text"}, link={"/etc/\x1bX": "Y"})


def test_no_change_changes_nothing() -> None:
    assert apply(STOCK, {}) == STOCK == changed(Change())


def test_symbols_go_to_their_tree_and_leave_the_others_alone() -> None:
    made = changed(Change(kernel={"SMP": False}, uboot={"BOOTDELAY": 0}, busybox={"TC": True}))
    assert made.kernel.config == {**STOCK.kernel.config, "SMP": False}
    assert made.uboot.config == {"BOOTDELAY": 0}
    assert made.busybox.config["TC"] is True
    assert STOCK.busybox.config["TC"] is False
    assert made.rootfs == STOCK.rootfs


@pytest.mark.parametrize(
    ("line", "change", "expected"),
    [
        ("a=1 b", Change(command_line=("quiet",)), "a=1 b quiet"),
        ("a=1 b", Change(command_line=("a=2",)), "a=2 b"),
        ("a=1  b ", Change(command_line=("b=3", "c")), "a=1 b=3 c"),
        ("a=1 a=2", Change(command_line_drop=("a",)), ""),
        ("a=1 b", Change(command_line_drop=("a=7",)), "b"),
        ("ab=1 a", Change(command_line_drop=("a",)), "ab=1"),
        ("a=b=c", Change(command_line=("a=d=e",)), "a=d=e"),
        ("a=1 b", Change(command_line=("a=2",), command_line_drop=("a",)), "a=2 b"),
        ("a=1", Change(command_line=("b=1", "b=2")), "a=1 b=2"),
        ("", Change(command_line=("quiet",)), "quiet"),
    ],
)
def test_words_of_the_command_line_are_replaced_by_their_name(
    line: str, change: Change, expected: str
) -> None:
    assert changed(change, with_line(line)).kernel.command_line == expected


def test_a_word_takes_the_place_of_all_with_its_name() -> None:
    """The kernel heeds the last one: one that stayed would undo the change."""
    base = with_line("loglevel=7 root=x loglevel=8")
    assert changed(Change(command_line=("loglevel=1",)), base).kernel.command_line == "loglevel=1 root=x"


def test_words_that_nobody_touches_stay_where_and_as_often_as_they_are() -> None:
    line = "console=ttyS0 console=tty0 quiet quiet"
    assert changed(Change(command_line=("rw",)), with_line(line)).kernel.command_line == f"{line} rw"


def test_compiler_options_are_replaced_by_their_name_too() -> None:
    change = Change(compiler_options=("-march=armv7-a", "-static"), compiler_options_drop=("-O2",))
    made = changed(change)
    assert made.application.compiler_options == ("-Wall", "-Wextra", "-Werror", "-march=armv7-a", "-static")
    other = changed(Change(compiler_options=("-march=native",)), made)
    assert other.application.compiler_options[3:] == ("-march=native", "-static")
    none = changed(Change(compiler_options_drop=("-march=anything",)), made)
    assert none.application.compiler_options[3:] == ("-static",)


def test_other_settings_are_named_as_in_the_system_file() -> None:
    made = changed(Change(settings={"rootfs.filesystem": "ext2", "rootfs.options": ("-I", "128")}))
    assert (made.rootfs.filesystem, made.rootfs.options) == ("ext2", ("-I", "128"))
    assert changed(Change(settings={"title": "another"})).title == "another"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"rootfs.nonsense": "x"}, "nonsense"),
        ({"nonsense": 1}, "nonsense"),
        ({"nonsense.inner": 1}, "nonsense"),
        ({"": 1}, "unknown field"),
        ({"rootfs": "ext4"}, "rootfs"),
        ({"card.boot_sector": "first"}, "card"),
        ({"title.inner": "x"}, "title"),
        ({"\x1b[31m": "x"}, r"\x1b[31m"),
    ],
)
def test_an_unknown_setting_or_a_wrong_value_is_named(settings: Settings, said: str) -> None:
    with pytest.raises(UserError) as caught:
        changed(Change(settings=settings))
    assert "gives an invalid system" in caught.value.message
    assert said in caught.value.message
    assert caught.value.message.isprintable()


@pytest.mark.parametrize(
    "key",
    [
        "kernel.command_line", "kernel.config.SMP", "uboot.config", "rootfs.remove", "rootfs.files./etc/x",
        "application.compiler_options",
    ],
)  # fmt: skip
def test_what_has_a_key_of_its_own_is_no_setting(key: str) -> None:
    """Else its conflicts would not be found."""
    with pytest.raises(UserError, match="cannot be changed as a setting") as caught:
        changed(Change(settings={key: "x"}))
    assert caught.value.hint


# ---- files ----


def test_files_and_links_are_added_and_patterns_kept() -> None:
    made = changed(Change(write={"/etc/x": "1\n"}, link={"/bin/y": "x"}, remove=("/etc/init.d/S30*",)))
    assert made.rootfs.files == {"/etc/x": "1\n"}
    assert made.rootfs.links == {"/bin/y": "x"}
    assert made.rootfs.remove == ("/etc/init.d/S30*",)
    again = changed(Change(remove=("/etc/init.d/S30*", "/etc/z")), made)
    assert again.rootfs.remove == ("/etc/init.d/S30*", "/etc/z")


def test_a_file_that_is_removed_and_written_is_written() -> None:
    change = Change(write={"/etc/x": "new"}, remove=("/etc/x",))
    made = changed(change)
    assert made.rootfs.files == {"/etc/x": "new"}
    assert change.claims() == {"file /etc/x": "new"}


@pytest.mark.parametrize("pattern", ["/etc/x", "/etc/*", "/etc", "/*"])
def test_what_a_system_writes_itself_can_be_removed(pattern: str) -> None:
    base = changed(Change(write={"/etc/x": "old", "/usr/y": "old"}, link={"/etc/z": "x"}))
    made = changed(Change(remove=(pattern,)), base)
    assert "/etc/x" not in made.rootfs.files
    assert ("/usr/y" in made.rootfs.files) == (pattern != "/*")
    assert ("/etc/z" in made.rootfs.links) == (pattern == "/etc/x")


def test_a_file_takes_the_place_of_a_link_and_the_other_way_round() -> None:
    base = changed(Change(write={"/a": "text"}, link={"/b": "target"}))
    made = changed(Change(write={"/b": "text"}, link={"/a": "target"}), base)
    assert made.rootfs.files == {"/b": "text"}
    assert made.rootfs.links == {"/a": "target"}


# ---- conflicts ----


@pytest.mark.parametrize(
    ("a", "b", "key"),
    [
        (Change(kernel={"X": True}), Change(kernel={"X": False}), "kernel.config.X"),
        (Change(kernel={"X": True}), Change(kernel={"X": 1}), "kernel.config.X"),
        (Change(kernel={"X": "m"}), Change(kernel={"X": True}), "kernel.config.X"),
        (Change(command_line=("a=1",)), Change(command_line=("a=2",)), "command line a"),
        (Change(command_line=("a=1",)), Change(command_line_drop=("a",)), "command line a"),
        (Change(write={"/x": "1"}), Change(write={"/x": "2"}), "file /x"),
        (Change(write={"/x": "1"}), Change(link={"/x": "y"}), "file /x"),
        (Change(write={"/x": "1"}), Change(remove=("/x",)), "file /x"),
        (Change(write={"/x": "1"}, remove=("/x",)), Change(remove=("/x",)), "file /x"),
        (Change(write={"/x/y": "1"}), Change(remove=("/x*",)), "file /x/y"),
        (Change(link={"/x/y": "1"}), Change(remove=("/x",)), "file /x/y"),
        (Change(compiler_options=("-g",)), Change(compiler_options_drop=("-g",)), "compiler option -g"),
        (
            Change(compiler_options=("-march=a",)),
            Change(compiler_options=("-march=b",)),
            "compiler option -march",
        ),
        (
            Change(settings={"rootfs.filesystem": "ext2"}),
            Change(settings={"rootfs.filesystem": "ext3"}),
            "rootfs.filesystem",
        ),
    ],
)
def test_changes_that_want_different_things_conflict_and_are_named(a: Change, b: Change, key: str) -> None:
    assert [found for _, _, found in clash(one=a, other=b)] == [key]
    with pytest.raises(UserError) as caught:
        apply(STOCK, {"one": a, "other": b})
    assert "cannot be used together" in caught.value.message
    assert key in caught.value.message
    assert "one" in caught.value.message
    assert "other" in caught.value.message


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (Change(kernel={"X": True}), Change(kernel={"X": True})),
        (Change(kernel={"X": True}), Change(uboot={"X": False})),
        (Change(command_line=("a=1",)), Change(command_line=("b=1",))),
        (Change(command_line_drop=("a",)), Change(command_line_drop=("a",))),
        (Change(write={"/x": "1"}, remove=("/x",)), Change(write={"/x": "1"})),
        (Change(write={"/xy": "1"}), Change(remove=("/x",))),
        (Change(remove=("/x",)), Change(remove=("/x", "/y*"))),
    ],
)
def test_changes_that_want_the_same_or_other_things_go_together(a: Change, b: Change) -> None:
    assert clash(one=a, other=b) == []
    assert apply(STOCK, {"one": a, "other": b}) == changed(b, changed(a))


def test_a_change_does_not_conflict_with_itself() -> None:
    change = Change(write={"/etc/init.d/S00app": "#!"}, remove=("/etc/init.d/S*app",))
    assert clash(it=change) == []
    assert apply(STOCK, {"it": change}).rootfs.files == {"/etc/init.d/S00app": "#!"}


def test_of_three_changes_every_conflict_is_found() -> None:
    found = conflicts({n: Change(kernel={"X": v}) for n, v in (("a", 1), ("b", 2), ("c", 3))})
    assert found == [("a", "b", "kernel.config.X"), ("a", "c", "kernel.config.X")]


def test_names_of_changes_do_not_reach_a_terminal_raw() -> None:
    with pytest.raises(UserError) as caught:
        apply(STOCK, {"\x1b[31m": Change(kernel={"X": 1}), "b": Change(kernel={"X": 2})})
    assert caught.value.message.isprintable()


# ---- any changes ----

_NAMES = st.sampled_from(["A", "B", "C"])
_SYMBOLS = st.dictionaries(_NAMES, st.sampled_from([True, False, 1, 0, "m"]), max_size=2)
_WORDS = st.lists(st.sampled_from(["a", "b=1", "b=2", "c=x", "root=y"]), max_size=2).map(tuple)
_PATHS = ["/a", "/a/b", "/a/c", "/d"]


def _change(write: dict[str, str], link: dict[str, str], **parts: Any) -> Change:
    """Any change; no file is a link as well."""
    return Change(write=write, link={path: to for path, to in link.items() if path not in write}, **parts)


_CHANGES = st.builds(
    _change,
    kernel=_SYMBOLS,
    uboot=_SYMBOLS,
    command_line=_WORDS,
    command_line_drop=st.lists(st.sampled_from(["a", "b", "console"]), max_size=1).map(tuple),
    write=st.dictionaries(st.sampled_from(_PATHS), st.sampled_from(["1", "2"]), max_size=2),
    link=st.dictionaries(st.sampled_from(_PATHS), st.sampled_from(["1", "2"]), max_size=1),
    remove=st.lists(st.sampled_from([*_PATHS, "/a/*", "/?"]), max_size=1).map(tuple),
    compiler_options=st.lists(st.sampled_from(["-g", "-O=1", "-O=2"]), max_size=1).map(tuple),
    compiler_options_drop=st.lists(st.sampled_from(["-g", "-Wall"]), max_size=1).map(tuple),
    settings=st.dictionaries(
        st.sampled_from(["rootfs.filesystem", "title", "card.disk_id"]), st.just(None), max_size=2
    ).map(lambda keys: {key: 7 if key == "card.disk_id" else "ext2" for key in keys}),
)
_BASES = st.lists(_CHANGES, max_size=2)


def regardless_of_order(system: System) -> tuple[object, ...]:
    """All of a system; of words that were added the order may differ, but nothing depends on it."""
    kernel = msgspec.structs.replace(system.kernel, command_line="")
    rootfs = msgspec.structs.replace(system.rootfs, remove=())
    application = msgspec.structs.replace(system.application, compiler_options=())
    rest = msgspec.structs.replace(system, kernel=kernel, rootfs=rootfs, application=application)
    words = (system.kernel.command_line.split(), system.rootfs.remove, system.application.compiler_options)
    return rest, *(sorted(part) for part in words)


@given(st.data(), _BASES, st.lists(_CHANGES, max_size=4))
def test_changes_that_do_not_conflict_give_the_same_system_in_any_order(
    data: st.DataObject, before: list[Change], changes: list[Change]
) -> None:
    base = STOCK
    for change in before:
        base = changed(change, base)
    named = {f"change {n}": change for n, change in enumerate(changes)}
    shuffled = dict(data.draw(st.permutations(list(named.items()))))
    if conflicts(named):
        with pytest.raises(UserError, match="cannot be used together"):
            apply(base, named)
        with pytest.raises(UserError, match="cannot be used together"):
            apply(base, shuffled)
    else:
        assert regardless_of_order(apply(base, named)) == regardless_of_order(apply(base, shuffled))


@given(_CHANGES, _BASES)
def test_a_change_made_twice_is_made_once(change: Change, before: list[Change]) -> None:
    base = STOCK
    for other in before:
        base = changed(other, base)
    once = changed(change, base)
    assert changed(change, once) == once
    assert set(change.command_line) <= {*once.kernel.command_line.split(), *change.command_line[:-1]}


@given(_CHANGES)
def test_a_change_survives_being_written_out(change: Change) -> None:
    assert msgspec.json.decode(msgspec.json.encode(change), type=Change) == change


def test_a_change_may_add_to_a_section_that_a_later_one_begins() -> None:
    """As their names have it: a seed for the small first program comes before the program."""
    begins: Settings = {"small_init.path": "/sbin/small-init", "small_init.command": "/usr/bin/testcard"}
    adds: Settings = {"small_init.seed": "/dev/mmcblk0 2046"}
    changes = {"a-seed": Change(settings=adds), "init-replace-by-app": Change(settings=begins)}
    init = apply(STOCK, changes).small_init
    assert isinstance(init, SmallInit)
    assert (init.path, init.seed) == ("/sbin/small-init", "/dev/mmcblk0 2046")
    assert apply(STOCK, dict(reversed(changes.items()))) == apply(stock().system, changes)
    with pytest.raises(UserError, match=r"a change of small_init\.seed gives an invalid system.*`path`"):
        apply(STOCK, {"one": changes["a-seed"], "other": Change(settings={"title": "a"})})
