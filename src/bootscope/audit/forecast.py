# SPDX-License-Identifier: Apache-2.0
"""What a recipe of a technique saves on a recorded boot, before it is tried.

The catalogue names changes that `what-if` knows. Beside these, the effect of leaving parts out of the kernel
is predicted from the kernel itself: the parts' initcalls and probes, their code that was seen running, their
bytes in the image; and the probes of devices that a recipe removes from the device tree.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable
from functools import partial

import msgspec

from bootscope.analysis.critical import Step
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.initcalls import name_of
from bootscope.analysis.timing import find_timing
from bootscope.analysis.views import View
from bootscope.analysis.whatif import Extra, Prediction, predict
from bootscope.analysis.whatif_core import predict_on_core
from bootscope.analysis.whatif_kernel import calls_gone, code_gone, larger, sleeps_gone
from bootscope.analysis.whatif_plan import Plan
from bootscope.analysis.whatif_root import Drivers, present_kind, root_kinds, rootfs
from bootscope.analysis.whatif_samples import briefer
from bootscope.analysis.whatif_terminals import fewer_terminals, terminals
from bootscope.changes.applies import each_with_values, filled
from bootscope.core.errors import UserError
from bootscope.core.text import listed, size
from bootscope.cores.changes import changed, is_of_core
from bootscope.cores.profile import Core
from bootscope.inventory import driver_parameters
from bootscope.inventory.closure import Closures, Lost
from bootscope.inventory.recorded import Recorded
from bootscope.kbuild.kconfig import written
from bootscope.system.changes import Change
from bootscope.system.filesystems import driver_of
from bootscope.techniques.model import Recipe

_DEFCONFIG, _NODES = "kernel.defconfig", "kernel.disabled_nodes"
_OUT = ("n", "m")
"""Values of symbols whose code is not in the kernel's image."""
LEFT_OUT = "left-out"
"""In a recipe's `predict`: only what leaves the kernel counts, of all that it changes."""
PARAMETERS = "driver-parameters"
"""In a recipe's `predict`: the effect of the parameters that it gives to drivers."""
_ROOT = "rootfs="
_UNIT = re.compile(r"([^/@]+)@([0-9a-f]+)$")


def can_be_told(recipe: Recipe) -> bool:
    """Whether there is a model of what a recipe does."""
    return bool(recipe.predict) or _leaves_out(recipe.change) or _NODES in recipe.change.settings


def what_ifs(recipe: Recipe) -> list[str]:
    """The changes of a recipe that `what-if` knows, without those that are predicted better here."""
    instead = (LEFT_OUT, _ROOT, PARAMETERS) if LEFT_OUT in recipe.predict else (PARAMETERS,)
    return [change for change in recipe.predict if not change.startswith(instead)]


def forecast(facts: Recorded, recipes: Iterable[Recipe]) -> Prediction:
    """Predicts the boot with several recipes together.

    Raises UserError when one of them cannot be predicted, at all or on this boot.
    """
    recipes = list(recipes)
    extra: list[Extra] = []
    for recipe in recipes:
        if not can_be_told(recipe):
            raise UserError("this change has no model", hint="bootscope try measures it")
        extra += _extra(facts, filled(recipe.change, facts), recipe)
    changes = _told(facts, recipes)
    view = facts.view
    if any(map(is_of_core, changes)):
        return predict_on_core(view, changes, partial(_on_core, view), extra).prediction
    return predict(view.evidence, view.stacks, changes, extra, view.ground)


def _told(facts: Recorded, recipes: Iterable[Recipe]) -> list[str]:
    """The changes of recipes that `what-if` knows, with the values of this system and this boot."""
    return [c for r in recipes for change in what_ifs(r) for c in each_with_values(change, facts)]


def uncounted(facts: Recorded, recipes: Iterable[Recipe]) -> Core | None:
    """The core, with the caches that recipes give it, whose counts :func:`forecast` needs and lacks; None if
    it lacks none, or there is no core. Raises UserError for settings that such a core cannot have."""
    view = facts.view
    changes = [change for change in _told(facts, recipes) if is_of_core(change)]
    if view.core is None or not changes:
        return None
    core = changed(view.core, changes).core
    return None if find_timing(view.run, view.boot, core) else core


def _on_core(view: View, core: Core) -> View:
    """The same boot on a core with other caches. Raises UserError if these were not counted."""
    found = view.on_core(core) if view.on_core and find_timing(view.run, view.boot, core) else None
    if found is None:
        raise UserError("its caches were not counted for that", hint="bootscope what-if counts them")
    return found


def _extra(facts: Recorded, change: Change, recipe: Recipe) -> list[Extra]:
    """What is predicted from the parts that a recipe's change leaves out."""
    found: list[Extra] = []
    if LEFT_OUT in recipe.predict or _leaves_out(change):
        kinds = [name.removeprefix(_ROOT) for name in recipe.predict if name.startswith(_ROOT)]
        lost, without = _without_code(facts, change, bool(kinds or what_ifs(recipe)))
        found += without
        if LEFT_OUT in recipe.predict:
            found += [_other_root(facts, kind, lost) for kind in kinds]
    nodes = change.settings.get(_NODES)
    if isinstance(nodes, tuple):
        found.append(without_devices(map(str, nodes)))
    if PARAMETERS in recipe.predict:
        found.append(_drivers_do_less(facts))
    return found


def _drivers_do_less(facts: Recorded) -> Extra:
    """The slowest drivers create and probe less, by their parameters."""
    effects = driver_parameters.effects(facts)

    def add(plan: Plan, evidence: Evidence, steps: list[Step]) -> None:
        config = facts.configs.get("kernel", {})
        fewer_terminals(plan, evidence, steps, config, {e.as_without for e in effects if e.as_without})
        briefer(plan, [((e.initcall,), e.share) for e in effects if not e.as_without])
        plan.assume(f"nothing needs what {listed([e.initcall for e in effects])} no longer creates or probes")

    return add


def _other_root(facts: Recorded, kind: str, lost: Collection[str]) -> Extra:
    """Another root file system; the `lost` symbols tell whether the present one's driver leaves the
    kernel."""

    def add(plan: Plan, evidence: Evidence, steps: list[Step]) -> None:
        there = facts.symbol("kernel", driver_of(kind)) == "y"
        goes = driver_of(present_kind(evidence)) in lost
        more = 0 if there or kind not in root_kinds() else root_kinds()[kind].code_bytes
        rootfs(plan, evidence, kind, Drivers(old_stops=not goes, more_bytes=more))

    return add


def _leaves_out(change: Change) -> bool:
    """Whether a change does little or nothing beside leaving parts out of the kernel."""
    others = msgspec.structs.replace(change, kernel={}, kernel_wishes={})
    off = "n" in map(written, {**change.kernel, **change.kernel_wishes}.values())
    return (off or change.from_nothing) and others.claims().keys() <= {_DEFCONFIG}


def _without_code(facts: Recorded, change: Change, told: bool) -> tuple[Collection[str], list[Extra]]:
    """(symbols that go, the boot without their code); the latter is empty if no code goes and the recipe is
    `told` by other means.

    Raises UserError when that cannot be predicted for this kernel.
    """
    closures = facts.closures
    if closures is None:
        raise UserError("the kernel's sources are not available")
    symbols = {**change.kernel_wishes, **change.kernel}
    off = [name for name, value in symbols.items() if written(value) in _OUT]
    on = [name for name, value in symbols.items() if written(value) not in _OUT]
    only = on if change.from_nothing else None
    lost = closures.lost(off, only)
    config = facts.configs.get("kernel", {})
    if not lost.objects and not any(terminals(config, lost.symbols)):
        if told:
            return lost.symbols, []
        raise UserError(
            "it removes parts of source files, whose time is unknown",
            hint="bootscope try measures it",
        )
    added = [n for n in on if facts.symbol("kernel", n) == "n" and n != "EXPERT"]

    def add(plan: Plan, evidence: Evidence, steps: list[Step]) -> None:
        without_objects(plan, evidence, steps, closures, lost)
        fewer_terminals(plan, evidence, steps, config, lost.symbols)
        if added and not told:
            plan.assume(f"what {', '.join(added[:3])} adds takes no time")

    return lost.symbols, [add]


def without_objects(
    plan: Plan, evidence: Evidence, steps: list[Step], closures: Closures, lost: Lost
) -> None:
    """Takes object files out of the kernel: initcalls and probes, code seen running, and their bytes."""
    names, linked = set(lost.objects), closures.linked

    @functools.cache  # few addresses are seen, but often
    def gone(address: int) -> bool:
        piece = linked.at(address)
        return piece is not None and piece.object in names

    calls = [c for c in evidence.scene.of("initcall") if gone(evidence.arch.code_address(c.value))]
    calls_gone(plan, evidence, steps, calls)
    code_gone(plan, evidence, gone)
    slept_ns = sleeps_gone(plan, evidence, steps, gone)
    if slept_ns:
        plan.assume(f"without this code its delays of {slept_ns / 1e6:.1f} ms are gone")
    larger(plan, evidence, -lost.image_bytes)
    plan.assume(
        f"{len(lost.symbols)} symbols are removed with {len(names)} object files, {size(lost.image_bytes)}",
        f"{len(calls)} initcalls are gone, with their drivers' probes",
        "outside these calls, the remaining code does as much work as before",
    )


def without_devices(nodes: Iterable[str]) -> Extra:
    """Without the probes of devices, given by their paths in the device tree, and without the kernel's
    messages about them."""
    nodes = tuple(nodes)
    names = {f"{match[2]}.{match[1]}" for node in nodes if (match := _UNIT.search(node))}
    names |= {node.rpartition("/")[2] for node in nodes if "@" not in node}
    mentions = re.compile(rf"(?<![\w/.-])({'|'.join(re.escape(n) for n in (*nodes, *names))})(?![\w.-]*\w)")

    def add(plan: Plan, evidence: Evidence, steps: list[Step]) -> None:
        probes = evidence.scene.of("probe")
        found = [c for c in probes if name_of(c, evidence).partition(" ")[0] in names]
        calls_gone(plan, evidence, steps, found)
        lines = [line for line in plan.ground.lines if line.level >= 0 and mentions.search(line.text)]
        plan.hide(lines)
        plan.assume(
            f"{len(found)} probes of {len(names)} devices are gone",
            f"{len(lines)} lines of the kernel that name these devices are not printed",
            "nothing else waited for these devices",
        )

    return add
