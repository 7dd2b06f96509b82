# SPDX-License-Identifier: Apache-2.0
"""Experiments: what is tried, what cannot be, what it was worth and whether it still works."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from bootscope.analysis.views import View
from bootscope.audit import findings as audit_module
from bootscope.audit.findings import Finding, audit
from bootscope.capture.record import Part
from bootscope.capture.store import Store
from bootscope.changes import experiment
from bootscope.changes.experiment import check, chosen, title, variant, with_bases
from bootscope.core.errors import UserError
from bootscope.inventory.recorded import Recorded
from bootscope.search.verdict import ExactVerdict, verdict
from bootscope.system.changes import Change
from bootscope.techniques.model import Applies, Recipe, Status, Technique, technique, techniques

from .lab_scenes import MS, boot, kept_view, known, stock


def made_up(name: str, *recipes: str, status: Status = Status.RUNS, **fields: Any) -> Technique:
    """A technique with recipes that set a symbol."""
    words = {"title": f"T {name}", "what": "what", "detect": "detect", "apply": "apply"}
    given = {
        recipe: Recipe(change=Change(kernel={"X": f"{name} {recipe}"}), applies=Applies())
        for recipe in recipes
    }
    return Technique(
        **{"schema": 1, "id": name, "phase": "kernel", "status": status, "recipes": given, **words, **fields}
    )


@pytest.fixture
def catalogue(monkeypatch: pytest.MonkeyPatch) -> dict[str, Technique]:
    """Made-up techniques instead of ours."""
    found = {
        t.id: t
        for t in (
            made_up("one", "on", conflicts=("two",)),
            made_up("two", "on"),
            made_up("many", "fast", "small"),
            made_up("by-hand"),
            made_up("nand", status=Status.HARDWARE, status_why="There is\nno NAND."),
            made_up("old", status=Status.OBSOLETE, status_why="Gone."),
        )
    }
    monkeypatch.setattr(experiment, "technique", found.__getitem__)
    monkeypatch.setattr(audit_module, "techniques", lambda: found)
    return found


# ---- names ----


def test_a_technique_with_one_way_needs_no_way(catalogue: dict[str, Technique]) -> None:
    for spec in ("one", "one=on", "one="):
        found, name, recipe = chosen(spec)
        assert (found.id, name, recipe) == ("one", "on", catalogue["one"].recipes["on"])
        assert title(found, name) == "one"
    found, name, _ = chosen("many=small")
    assert title(found, name) == "many=small"


@pytest.mark.parametrize(
    ("spec", "message", "hint"),
    [
        ("many", "many has several recipes", "one of: many=fast, many=small"),
        ("many=", "many has several recipes", "one of: many=fast, many=small"),
        ("many=slow", "unknown recipe of many 'slow'", "there are: fast, small"),
        ("one=\x1b[m", r"unknown recipe of one '\x1b[m'", "there are: on"),
        (
            "by-hand",
            "by-hand cannot be tried: bootscope cannot do it automatically",
            "bootscope techniques by-hand explains it",
        ),
        ("nand", "nand cannot be tried: it needs hardware: There is no NAND.", "techniques nand"),
        ("old", "old cannot be tried: it is obsolete: Gone.", "techniques old"),
    ],
)
@pytest.mark.usefixtures("catalogue")
def test_what_cannot_be_tried_is_refused_with_the_reason(spec: str, message: str, hint: str) -> None:
    with pytest.raises(UserError) as caught:
        chosen(spec)
    assert caught.value.message == message
    assert hint in str(caught.value.hint)


@pytest.mark.parametrize("name", [t.id for t in techniques().values() if not t.recipes])
def test_every_technique_without_a_recipe_says_why(name: str) -> None:
    with pytest.raises(UserError, match=f"{name} cannot be tried: ") as caught:
        chosen(name)
    assert caught.value.message.isprintable()
    assert technique(name).status is Status.RUNS or len(caught.value.message) > 60


@pytest.mark.parametrize("specs", [["one", "two"], ["two", "one"], ["two", "many=fast", "one=on"]])
@pytest.mark.usefixtures("catalogue")
def test_techniques_that_exclude_each_other_are_refused(specs: list[str]) -> None:
    """Also where only one of them says so."""
    with pytest.raises(UserError, match="one and two exclude each other"):
        check(specs)


# ---- the variant ----


@pytest.fixture
def some(store: Store) -> Recorded:
    """A boot of the stock system."""
    return known(store)


def test_a_variant_is_the_system_with_all_the_changes(some: Recorded) -> None:
    made = variant(stock(), some, ["kernel-lpj", "init-replace-by-app", "uboot-bootdelay"])
    assert made.system.name == "stock.try"
    assert made.path == stock().path
    assert made.system.kernel.command_line.split()[-2:] == ["lpj=4980736", "init=/usr/bin/testcard"]
    assert made.system.uboot.config == {"BOOTDELAY": 0}
    assert stock().system.uboot.config == {}


def test_a_technique_named_twice_is_used_once(some: Recorded) -> None:
    once, twice = (variant(stock(), some, specs) for specs in (["kernel-quiet"], ["kernel-quiet"] * 2))
    assert once == twice


def test_one_that_does_not_apply_is_refused_unless_forced(some: Recorded) -> None:
    with pytest.raises(UserError) as caught:
        variant(stock(), some, ["kernel-no-net"])
    assert caught.value.message == "kernel-no-net does not apply to stock: already in effect"
    assert "--force" in str(caught.value.hint)
    assert variant(stock(), some, ["kernel-no-net"], force=True).system.kernel.config["NET"] is False


def test_what_the_system_has_not_cannot_be_forced(some: Recorded) -> None:
    loaded = stock()
    sources = {name: source for name, source in loaded.system.sources.items() if name != "musl"}
    without = replace(loaded, system=msgspec.structs.replace(loaded.system, sources=sources))
    with pytest.raises(UserError, match=r"application\.libc_source: expected a name under \[sources\]"):
        variant(without, some, ["app-static-link-musl-license=root"], force=True)


def test_a_value_that_the_boot_does_not_tell_cannot_be_forced(store: Store) -> None:
    silent = known(store, boot(calibration=False).records)
    with pytest.raises(UserError, match="the boot does not show lpj"):
        variant(stock(), silent, ["kernel-lpj"], force=True)


def test_two_ways_of_one_technique_are_refused() -> None:
    """At once: two compressions of a kernel would only be found out by its build."""
    with pytest.raises(UserError) as caught:
        check(["kernel-compression=lz4", "kernel-quiet", "kernel-compression=xz"])
    assert caught.value.message.startswith("kernel-compression=lz4 and kernel-compression=xz are two recipes")
    assert len(check(["kernel-compression=lz4", "kernel-compression=lz4"])) == 2


@pytest.mark.usefixtures("catalogue")
def test_techniques_that_want_different_things_are_named(some: Recorded) -> None:
    """Where the catalogue does not say so."""
    with pytest.raises(UserError) as caught:
        variant(stock(), some, ["many=fast", "one"])
    for word in ("many=fast", "one", "kernel.config.X"):
        assert word in caught.value.message


# ---- the verdict ----


def judged(store: Store, a: View, b: View) -> ExactVerdict:
    found = verdict(store, a, b)
    assert (found.base.run_id, found.variant.run_id) == (a.run.info.run_id, b.run.info.run_id)
    assert found.works == (not found.faults)
    return found


def test_a_variant_that_is_faster_saves_the_difference(store: Store) -> None:
    a, b = kept_view(store), kept_view(store, boot(init_ms=20).records)
    found = judged(store, a, b)
    assert found.works
    assert found.saving_ns == 30 * MS
    assert judged(store, b, a).saving_ns == -30 * MS
    assert judged(store, a, a).saving_ns == 0
    assert found.sizes == {}


@pytest.mark.parametrize("ended", ["panic", "hang", "limit", "timeout", "died", "interrupted", "partial"])
def test_a_variant_that_does_not_get_there_does_not_work(store: Store, ended: str) -> None:
    """And has no saving, however soon it ended."""
    found = judged(store, kept_view(store), kept_view(store, boot().records[:30], ended=ended))
    assert not found.works
    assert found.faults == (f"ended by {ended}",)
    assert found.comparison is None
    assert found.saving_ns is None


@pytest.mark.parametrize(
    ("frames", "works"),
    [((b"picture", b"picture"), True), ((b"picture", b"Picture"), False), ((b"picture", b""), False)],
)
def test_the_picture_must_be_the_same(store: Store, frames: tuple[bytes, bytes], works: bool) -> None:
    a, b = (kept_view(store, frame=frame) for frame in frames)
    found = judged(store, a, b)
    assert found.faults == (() if works else ("the picture on the screen differs",))
    assert found.saving_ns == 0


def test_a_milestone_that_was_asked_for_must_be_there(store: Store) -> None:
    """But not every other one: a fast variant may end before something that nobody needs."""
    story = boot()
    without = [r for r in story.records if getattr(r, "text", b"") != b"/init"]
    a = kept_view(store)
    assert judged(store, a, kept_view(store, without)).works
    to_init = kept_view(store, until="init")
    assert judged(store, to_init, kept_view(store, without, until="init")).faults == (
        "init is no longer reached",
    )


def test_long_lists_of_files_are_compared_too(store: Store) -> None:
    """They are kept packed."""
    files = {f"/etc/{number:06}": "file 0123456789abcdef" for number in range(40_000)}
    a, b = kept_view(store, files=files), kept_view(store, files={**files, "/etc/new": "folder"})
    found = judged(store, a, b).comparison
    assert found
    assert [(d.what, d.a, d.b) for d in found.differences] == [("file: /etc/new", None, "folder")]


def test_sizes_are_told_where_they_differ(store: Store) -> None:
    def part(name: str, size: int) -> Part:
        return Part(name=name, step_id="s", sha256="0", size_bytes=size)

    a = kept_view(store, parts=(part("kernel/zImage", 4), part("card/card.img", 9), part("old", 1)))
    b = kept_view(store, parts=(part("kernel/zImage", 3), part("card/card.img", 9), part("new", 2)))
    found = judged(store, a, b)
    assert found.sizes == {"kernel/zImage": (4, 3), "new": (0, 2), "old": (1, 0)}
    assert list(found.sizes) == sorted(found.sizes)


# ---- the audit ----


def specs(findings: tuple[Finding, ...]) -> list[str]:
    return [f.spec for f in findings]


def test_the_largest_predicted_saving_comes_first_then_what_must_be_tried(some: Recorded) -> None:
    found = audit(some)
    told = [f.saving_ns for f in found.findings]
    predicted = [ns for ns in told if ns is not None]
    assert predicted == sorted(predicted, reverse=True)
    assert len(predicted) >= 2
    assert told == [*predicted, *[None] * (len(told) - len(predicted))]
    rest = [f.technique.id for f in found.findings if f.saving_ns is None]
    order = list(techniques())
    assert [order.index(name) for name in rest] == sorted(order.index(name) for name in rest)


def test_every_way_is_found_or_left_out_with_a_reason(some: Recorded) -> None:
    found = audit(some)
    recipes = [title(t, recipe) for t in techniques().values() for recipe in t.recipes]
    assert sorted([*specs(found.findings), *found.not_for_us, *found.unknown]) == sorted(recipes)
    # This kernel has no symbols that would tell who waits for random numbers.
    assert found.unknown == {"random-seed-on-card=init": "a boot that may show a wait for random numbers"}
    assert found.not_for_us["kernel-compression=gzip"] == "already in effect"
    assert all(found.not_for_us.values())


def test_a_finding_tells_what_the_boot_shows_and_what_is_assumed(some: Recorded) -> None:
    found = {f.spec: f for f in audit(some).findings}
    assert found["uboot-bootdelay"].saving_ns == 30 * MS
    assert found["uboot-bootdelay"].evidence == "U-Boot waits 30.0 ms for a key"
    assert found["kernel-quiet"].assumptions
    assert found["kernel-limit-memory=half"].evidence == ""


def test_what_a_boot_does_not_show_is_left_out(store: Store) -> None:
    found = audit(known(store, boot(countdown=False, calibration=False).records))
    assert found.not_for_us["uboot-bootdelay"] == "the boot does not show a countdown in U-Boot"
    assert found.not_for_us["kernel-lpj"] == "the boot does not show lpj"


def test_a_saving_that_cannot_be_predicted_for_this_boot_is_left_to_a_try(
    some: Recorded, catalogue: dict[str, Technique]
) -> None:
    """One prediction that fails must not hide all other findings."""
    recipe = Recipe(change=Change(kernel={"X": "y"}), predict=("later:nothing-of-the-kind",))
    cost = Recipe(change=Change(kernel={"X": "m"}), predict=("card=0.5x",))
    catalogue["fails"] = made_up("fails", recipes={"it": recipe})
    catalogue["costs"] = made_up("costs", recipes={"it": cost})
    found = audit(some).findings
    assert found[0].spec == "costs"
    assert found[0].saving_ns is not None
    assert found[0].saving_ns < 0
    fails = next(f for f in found if f.spec == "fails")
    assert fails.saving_ns is None
    assert fails.assumptions == ("not predicted: no program called 'nothing-of-the-kind' ran in this boot",)


# ---- their own bases ----


def test_a_technique_that_is_followed_already_begins_from_its_own_base(
    catalogue: dict[str, Technique],
) -> None:
    base = Change(kernel={"X": "before"}, write={"/etc/init.d/S01": "@application@ &"})
    recipe = Recipe(change=Change(kernel={"X": "one on"}), base=base)
    catalogue["one"] = made_up("one", recipes={"on": recipe})
    before = with_bases(stock(), ["one"])
    assert before.system.kernel.config["X"] == "before"
    assert before.system.rootfs.files == {"/etc/init.d/S01": "/usr/bin/testcard &"}
    assert before.system.name == "stock.base"
    assert with_bases(stock(), ["two"]) == stock()


def test_bases_that_want_different_things_are_refused(catalogue: dict[str, Technique]) -> None:
    for name, other in (("many", "a"), ("two", "b")):
        recipe = Recipe(change=Change(kernel={name: True}), base=Change(kernel={"X": other}))
        catalogue[name] = made_up(name, recipes={"on": recipe})
    with pytest.raises(UserError, match="the base of many and the base of two cannot be used together"):
        with_bases(stock(), ["many", "two"])
