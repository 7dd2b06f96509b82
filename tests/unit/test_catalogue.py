# SPDX-License-Identifier: Apache-2.0
"""The catalogue of techniques: whole, without contradictions, and every recipe makes a system."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from dataclasses import replace
from graphlib import TopologicalSorter
from pathlib import Path

import msgspec
import pytest

from bootscope.analysis import whatif
from bootscope.audit.forecast import LEFT_OUT, PARAMETERS
from bootscope.boards.changed import core_of
from bootscope.boards.profile import load_board
from bootscope.capture.record import SYSCALL_FILE, WatchNames
from bootscope.capture.store import Store
from bootscope.changes.applies import filled
from bootscope.core.errors import UserError
from bootscope.cores.changes import KNOWN as OF_CORES
from bootscope.emulator.subject import flat
from bootscope.inventory.indicators import INDICATORS
from bootscope.inventory.inventory import Inventory, Part
from bootscope.inventory.recorded import Recorded
from bootscope.inventory.values import FOUND, PLACEHOLDER, VALUES
from bootscope.kbuild.kconfig import written
from bootscope.system import load
from bootscope.system.changes import TREES, Change, apply, conflicts, with_words
from bootscope.system.filesystems import DRIVERS
from bootscope.system.placeholders import ADDRESSES, SETTINGS
from bootscope.techniques import model
from bootscope.techniques.model import (
    ABILITIES,
    DOCUMENTS,
    PHASES,
    Recipe,
    Status,
    Technique,
    figures,
    technique,
    technique_ids,
    techniques,
)

from .builders import DEVICES, HOOKS, ROOT, TEXTS
from .lab_scenes import SLOW_DRIVERS, boot_with_slow_driver, known, stock
from .reading_scenes import SECTOR, where
from .systemd_scenes import base_of, elsewhere, is_of_stock, system_for

ALL = techniques()
RECIPES = [(t, name, recipe) for t in ALL.values() for name, recipe in t.recipes.items()]
NAMES = [f"{t.id}={name}" for t, name, _ in RECIPES]
every = pytest.mark.parametrize("t", ALL.values(), ids=list(ALL))
every_recipe = pytest.mark.parametrize("recipe", [recipe for _, _, recipe in RECIPES], ids=NAMES)


@pytest.fixture(scope="module")
def stock_facts(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """A boot of the stock system: a driver takes long, and there are no system calls, which were recorded; a
    script is read."""
    calls = {**HOOKS, len(HOOKS) + 1: SYSCALL_FILE}
    found = known(
        Store(tmp_path_factory.mktemp("catalogue") / "store"),
        boot_with_slow_driver().read(SECTOR, 4096).sample().records,
        watch_names=WatchNames(devices=DEVICES, hooks=calls, texts=TEXTS),
        objects=SLOW_DRIVERS,
    )
    return where(found, {"/etc/init.d/rcS": SECTOR})


def of_base(found: Recorded, own: Change) -> Recorded:
    """What is known of the stock system with what a technique's base brings."""
    written = {path: text for path, text in own.write.items() if text.startswith("#!")}
    line = with_words(found.words, own.command_line, own.command_line_drop)
    settings = {**found.settings, **{key: str(value) for key, value in own.settings.items()}}
    return replace(found, scripts={**found.scripts, **written}, command_line=line, settings=settings)


# ---- the whole ----


def test_they_are_listed_in_the_order_of_the_phases_then_by_id() -> None:
    listed = [(PHASES.index(t.phase), t.id) for t in ALL.values()]
    assert listed == sorted(listed)
    assert list(ALL) != technique_ids()


def test_a_conflict_that_one_of_two_tells_is_known_of_both() -> None:
    told = tomllib.loads((model.CATALOGUE / "uboot-flatten-scripts.toml").read_text())["conflicts"]
    assert told == ["uboot-trim"]
    assert "conflicts" not in tomllib.loads((model.CATALOGUE / "uboot-trim.toml").read_text())
    assert "uboot-flatten-scripts" in technique("uboot-trim").conflicts
    assert [(t.id, c) for t in ALL.values() for c in t.conflicts if t.id not in ALL[c].conflicts] == []


@every
def test_a_conflict_is_told_once(t: Technique) -> None:
    told = tomllib.loads((model.CATALOGUE / f"{t.id}.toml").read_text()).get("conflicts", [])
    twice = [
        c
        for c in told
        if t.id in tomllib.loads((model.CATALOGUE / f"{c}.toml").read_text()).get("conflicts", [])
    ]
    assert twice == []


def test_what_comes_after_what_is_no_circle() -> None:
    order = list(TopologicalSorter({t.id: t.after for t in ALL.values()}).static_order())
    assert order.index("kernel-remove-unused") < order.index("kernel-quiet")


def test_the_page_of_techniques_is_what_the_catalogue_makes() -> None:
    path = ROOT / "tools" / "techniques_page.py"
    spec = importlib.util.spec_from_file_location("techniques_page", path)
    assert spec
    assert spec.loader
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    told = (ROOT / "docs" / "techniques.md").read_text()
    assert told == tool.page(), "python tools/techniques_page.py makes it anew"


# ---- each technique ----


@every
def test_its_file_says_what_every_technique_says(t: Technique) -> None:
    assert technique(t.id) == t
    assert t.schema == model.SCHEMA
    assert t.phase in PHASES
    assert 0 < len(t.title) <= 60
    for text in (t.title, t.what, t.detect, t.apply):
        assert text.strip() == text != ""
        assert text.isascii() or text.replace("\n", "").isprintable()
    assert bool(t.status_why) == (t.status is not Status.RUNS)
    assert set(t.loses) <= set(ABILITIES)
    assert not t.recipes or t.status is Status.RUNS
    assert not t.replaced_by or t.status is Status.OBSOLETE


@every
def test_whatever_it_names_is_there(t: Technique) -> None:
    carried_out_by = [name for name in t.carried_out_by if name != "trim"]
    assert all(ALL[name].recipes for name in carried_out_by)
    assert not (t.carried_out_by and t.recipes)
    assert not t.default or (t.default in t.recipes and len(t.recipes) > 1)
    for names in (t.conflicts, t.after, t.replaced_by, carried_out_by):
        assert set(names) <= ALL.keys()
        assert t.id not in names
        assert len(set(names)) == len(names)
    assert not set(t.conflicts) & set(t.after)
    for name in t.replaced_by:
        assert ALL[name].status is not Status.OBSOLETE
    assert set(t.figures) <= figures().keys()
    assert len(set(t.figures)) == len(t.figures)
    for ref in t.refs:
        document, _, title = ref.partition(":")
        assert document in DOCUMENTS
        assert title.strip()


@pytest.mark.parametrize("path", sorted(model.CATALOGUE.glob("*.toml")), ids=lambda p: p.stem)
def test_its_file_is_read_to_its_last_key(path: Path) -> None:
    table = tomllib.loads(path.read_text())
    assert table["id"] == path.stem
    assert table.keys() <= set(Technique.__struct_fields__)
    assert path.read_text().startswith("# SPDX-License-Identifier: Apache-2.0\n")


# ---- figures ----


def test_every_figure_has_a_document_and_says_where_it_stands() -> None:
    assert len(figures()) > 800
    for name, figure in figures().items():
        assert figure.id == name
        assert name.startswith(f"{figure.seed}:")
        assert figure.seed in DOCUMENTS
        assert figure.metric
        assert figure.value


# ---- recipes ----


@pytest.mark.parametrize(("t", "recipe"), [(t, recipe) for t, _, recipe in RECIPES], ids=NAMES)
def test_a_recipe_makes_a_system_of_one_that_it_is_for(
    t: Technique, recipe: Recipe, stock_facts: Recorded
) -> None:
    loaded = stock() if is_of_stock(t) else load.load_system(system_for(t))
    own = filled(recipe.base, Inventory(parts=frozenset({Part.SETTINGS}), settings=flat(loaded.system)))
    base = apply(base_of(t, recipe), {"its base": own})
    load.check_system(base, loaded.path)
    change = filled(
        recipe.change, of_base(stock_facts, own) if is_of_stock(t) else elsewhere(stock_facts, t, base, own)
    )
    made = apply(base, {"it": change})
    load.check_system(made, loaded.path)
    core_of(load_board(made.board))
    assert made != base
    assert apply(made, {"it": change}) == made
    assert conflicts({"a": change, "b": change}) == []
    texts = [*change.command_line, *change.write.values(), *change.link.values()]
    assert not PLACEHOLDER.search(" ".join(texts))
    for tree in TREES:
        for symbol, value in getattr(change, tree).items():
            assert re.fullmatch(r"[A-Z0-9_]+", symbol)
            assert not symbol.startswith("CONFIG_")
            assert written(value)
    for path in (*change.write, *change.link, *change.remove):
        assert path.startswith("/")
    for path, text in change.write.items():
        assert text.startswith("#!") or not path.startswith("/etc/init.d/")
        assert text.endswith("\n")


@every_recipe
def test_a_recipe_asks_for_signs_and_predictions_that_there_are(recipe: Recipe) -> None:
    assert not recipe.applies.shows or recipe.applies.shows in INDICATORS
    assert set(recipe.applies.filesystem) <= set(DRIVERS)
    known_names = {re.split("[=:]", known)[0] for known in (*whatif.KNOWN, *OF_CORES)}
    asked = {re.split("[=:]", change)[0] for change in recipe.predict}
    assert asked <= known_names | {LEFT_OUT, PARAMETERS}
    named = set(PLACEHOLDER.findall(msgspec.json.encode(recipe).decode()))
    assert named <= {*VALUES, *SETTINGS, *ADDRESSES, *FOUND}


@every_recipe
def test_a_recipe_changes_something(recipe: Recipe) -> None:
    assert recipe.change != Change()
    assert recipe.change.claims()


def test_recipes_that_say_nothing_of_a_conflict_want_the_same_of_a_symbol(
    stock_facts: Recorded,
) -> None:
    """Of two techniques that want different things of one symbol, each must name the other.

    For scripts and settings (two boot scripts, two places for an initramfs) it is plain to see, and `try`
    says so.
    """
    settings = Inventory(parts=frozenset({Part.SETTINGS}), settings=stock_facts.settings)
    stocks = [
        (t, filled(recipe.change, of_base(stock_facts, filled(recipe.base, settings))))
        for t, _, recipe in RECIPES
        if is_of_stock(t)
    ]
    unsaid = [
        (a.id, b.id, clash)
        for number, (a, one) in enumerate(stocks)
        for b, other in stocks[number + 1 :]
        if a.id != b.id and b.id not in a.conflicts
        for clash in conflicts({"a": one, "b": other})
        if ".config." in clash[2]
    ]
    assert unsaid == []


# ---- damaged files ----


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    """A catalogue of one technique: its file."""
    path = tmp_path / "kernel-quiet.toml"
    path.write_text((model.CATALOGUE / path.name).read_text())
    return path


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('id = "kernel-quiet"', 'id = "other"', "expected id 'kernel-quiet'"),
        ('phase = "kernel"', 'phase = "colonel"', "a phase of hardware, rom"),
        ('status = "runs-here"', 'status = "perhaps"', "status"),
        ('title = "', 'tittle = "', "unknown key `tittle`"),
        ('change = { command_line = ["quiet"] }', "change = { quiet = true }", "unknown key `quiet`"),
        ('phase = "kernel"\n', "", "missing value for `phase`"),
        (
            "refs = ",
            'conflicts = ["no-such"]\nrefs = ',
            "techniques conflict with no-such, which is not there",
        ),
    ],
)
def test_a_damaged_file_is_named_with_what_is_wrong(catalogue: Path, old: str, new: str, said: str) -> None:
    text = catalogue.read_text()
    assert old in text
    catalogue.write_text(text.replace(old, new, 1))
    with pytest.raises(UserError) as caught:
        techniques(catalogue.parent)
    assert str(catalogue.parent) in caught.value.message
    assert said in caught.value.message


def test_an_unknown_technique_is_refused_with_the_command_that_lists_all() -> None:
    with pytest.raises(UserError, match="unknown technique 'nonsense'") as caught:
        technique("nonsense")
    assert f"there are {len(ALL)}: bootscope techniques" in str(caught.value.hint)
    with pytest.raises(UserError):
        technique("../catalogue/kernel-quiet")


def test_a_name_that_is_nearly_right_is_answered_with_those_like_it() -> None:
    with pytest.raises(UserError) as caught:
        technique("uboot-bootdly")
    assert caught.value.hint is not None
    assert "uboot-bootdelay" in caught.value.hint
    assert len(caught.value.hint) < 200


def test_a_file_of_version_0_1_opens_where_recipes_are_called_ways(catalogue: Path) -> None:
    found = techniques(catalogue.parent)
    old = catalogue.parent / "old" / catalogue.name
    old.parent.mkdir()
    old.write_text(catalogue.read_text().replace("[recipes.quiet]", "[ways.quiet]"))
    assert "[ways.quiet]" in old.read_text()
    assert techniques(old.parent) == found
    old.write_text(catalogue.read_text() + '\n[ways.loud]\nchange = { command_line = ["debug"] }\n')
    with pytest.raises(UserError, match="unknown key `ways`"):
        techniques(old.parent / ".." / "old")
