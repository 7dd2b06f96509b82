# SPDX-License-Identifier: Apache-2.0
"""The audit: which techniques apply to a system, what each saves on its boot, and why; and which of them
exclude each other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from bootscope.audit.forecast import LEFT_OUT, can_be_told, forecast
from bootscope.boards.changed import APART
from bootscope.changes.applies import not_known, why_not
from bootscope.changes.compose import with_known_values
from bootscope.changes.experiment import title
from bootscope.changes.impossible import out_of_scope
from bootscope.changes.on_image import BY_BUILD, ON_IMAGE, is_image, needs_build
from bootscope.core.errors import UserError
from bootscope.inventory.indicators import indicator_evidence
from bootscope.inventory.inventory import Inventory
from bootscope.inventory.log_indicators import PREDICTED
from bootscope.inventory.recorded import Recorded
from bootscope.system.changes import Change, conflicts, word_name
from bootscope.techniques.model import Recipe, Technique, techniques


@dataclass(frozen=True)
class Finding:
    """A recipe of a technique that applies. `saving_ns` is predicted from the boot; None if only a try can
    tell. `evidence` is evidence in the boot, `assumptions` are those of the prediction."""

    technique: Technique
    recipe: str
    saving_ns: int | None
    evidence: str
    assumptions: tuple[str, ...] = ()
    change: Change = field(default_factory=Change)
    """The recipe's change with the values of this boot filled in (see compose.py)."""
    made: str = ""
    """For a prebuilt image: ON_IMAGE or BY_BUILD; empty for other systems."""

    @property
    def spec(self) -> str:
        """The name that `bootscope try` uses."""
        return title(self.technique, self.recipe)


Group = tuple[Finding, ...]
"""A finding followed by its alternatives."""


@dataclass(frozen=True)
class Audit:
    """`findings` has the largest predicted saving first, then those without a prediction in the order of the
    boot; `not_for_us` maps the other techniques that bootscope carries out to the reason why they do not
    apply, `unknown` to what would have to be known to decide."""

    findings: tuple[Finding, ...]
    not_for_us: dict[str, str]
    unknown: dict[str, str] = field(default_factory=dict)


def audit(facts: Inventory) -> Audit:
    """Goes through all techniques that bootscope carries out by itself."""
    findings: list[Finding] = []
    others: dict[str, str] = {}
    unknown: dict[str, str] = {}
    for technique in techniques().values():
        for name, recipe in technique.recipes.items():
            reason = (
                _other_goal(recipe) or why_not(recipe, facts) or out_of_scope(technique.applies_to, facts)
            )
            if reason:
                others[title(technique, name)] = reason
            elif missing := not_known(recipe, facts):
                unknown[title(technique, name)] = missing
            else:
                findings.append(_finding(technique, name, recipe, facts))
    findings.sort(key=lambda f: (f.saving_ns is not None, f.saving_ns or 0), reverse=True)
    return Audit(tuple(findings), others, unknown)


def _other_goal(recipe: Recipe) -> str:
    """Why a recipe is not for making this system's boot shorter, if it is for one milestone only or is other
    hardware; empty for all others."""
    if APART in str(recipe.change.settings.get("board", "")):
        return "it is a hardware change: try it"
    return f"it only makes {recipe.milestone} earlier: try it" if recipe.milestone else ""


def ruled_out(found: Audit, facts: Inventory) -> frozenset[str]:
    """Ids of the techniques that this system cannot use, or whose recipes would all change nothing."""
    open_to = {f.technique.id for f in found.findings} | {word_name(spec) for spec in found.unknown}
    return frozenset(
        t.id
        for t in techniques().values()
        if (t.recipes and t.id not in open_to) or out_of_scope(t.applies_to, facts)
    )


def groups(findings: Iterable[Finding]) -> list[Group]:
    """Findings followed by their alternatives, in the order given: the best first."""
    found: list[list[Finding]] = []
    for finding in findings:
        group = next((g for g in found if _instead(g[0], finding)), None)
        if group:
            group.append(finding)
        else:
            found.append([finding])
    return [tuple(group) for group in found]


def _instead(best: Finding, other: Finding) -> bool:
    """Whether `other` is an alternative to `best`: the two exclude each other, or are predicted by the same
    change of the boot."""
    recipes = (best.technique.recipes[best.recipe], other.technique.recipes[other.recipe])
    # LEFT_OUT stands for another part of the kernel in each recipe.
    told = recipes[0].predict if LEFT_OUT not in recipes[0].predict else ()
    same = bool(told) and told == recipes[1].predict
    return same or exclude(best.spec, best.change, other.spec, other.change)


def exclude(spec: str, change: Change, other: str, another: Change) -> bool:
    """Whether two techniques cannot both be in a system."""
    one, two = word_name(spec), word_name(other)
    if one == two:
        return spec != other
    return two in techniques()[one].conflicts or bool(conflicts({spec: change, other: another}))


def predicted_ns(facts: Recorded, recipes: list[Recipe]) -> int | None:
    """What recipes of techniques save together on this boot, in ns; None if that cannot be predicted."""
    try:
        return forecast(facts, recipes).saving_ns
    except UserError:
        return None


def _finding(technique: Technique, name: str, recipe: Recipe, facts: Inventory) -> Finding:
    evidence = (indicator_evidence(recipe.applies.shows, facts) or "") if recipe.applies.shows else ""
    change = with_known_values(recipe.change, facts)
    saving_ns, assumptions = _prediction(recipe, facts) or (None, ())
    made = (BY_BUILD if needs_build(change) else ON_IMAGE) if is_image(facts.settings) else ""
    return Finding(technique, name, saving_ns, evidence, assumptions, change, made)


def _prediction(recipe: Recipe, known: Inventory) -> tuple[int | None, tuple[str, ...]] | None:
    """What a recipe saves on the recorded boot, or what can be predicted from a log alone."""
    if isinstance(known, Recorded):
        try:
            prediction = forecast(known, [recipe]) if can_be_told(recipe) else None
        except UserError as error:
            # Not predictable for this boot; the others still are.
            return None, (f"not predicted: {error.message}",)
        return (prediction.saving_ns, prediction.assumptions) if prediction else None
    found = [PREDICTED[change](known) if change in PREDICTED else None for change in recipe.predict]
    sure = [one for one in found if one]
    if not found or len(sure) < len(found):
        by_sign = PREDICTED.get(recipe.applies.shows)
        return by_sign(known) if by_sign else None
    return sum(ns for ns, _ in sure), tuple(dict.fromkeys(text for _, texts in sure for text in texts))
