# SPDX-License-Identifier: Apache-2.0
"""Rates of made-up boards from stretches with the noise of boots: are they where they are said to be?"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import pytest

from bootscope.calibration.fit import Fitted, Told, fitted
from bootscope.calibration.rates import BYTES, COMMANDS, CPU, EXTRA, LINE, MEMORY, Rates
from bootscope.calibration.result import FITTED, KEPT, TOLD
from bootscope.calibration.robust import Row

BEFORE = Rates(1.0, 500_000.0, 88.5, 1.0)
NOISE_NS = 200_000
CASES = 40


def stretch(rng: random.Random, truth: Rates, misfit: float, often: float) -> Row:
    """A stretch of a boot: a share that the emulator does not know, stamps, and now and then a wait for
    something that the emulator does not have."""
    cpu_ns = rng.lognormvariate(16.5, 1.2)
    commands = rng.randrange(40) if rng.random() < 0.3 else 0
    size = commands * rng.choice([512, 4096, 32_768, 131_072])
    line_ns = rng.choice([0, 0, 5e6, 2e7]) * rng.random()
    amounts = (cpu_ns, float(commands), float(size), line_ns, float(rng.randrange(1, 4)))
    took = sum(a * r for a, r in zip(amounts, truth[:MEMORY], strict=True)) * math.exp(rng.gauss(0, misfit))
    took += rng.gauss(0, NOISE_NS) + (rng.expovariate(1 / 5e7) if rng.random() < often else 0)
    return Row(amounts, took, took, NOISE_NS)


def rows(seed: int, truth: Rates, count: int = 60, misfit: float = 0.05, often: float = 0.1) -> list[Row]:
    rng = random.Random(seed)
    return [stretch(rng, truth, misfit, often) for _ in range(count)]


def fit(found: Sequence[Row], told: dict[int, Told] | None = None) -> Fitted:
    return fitted(lambda _: found, BEFORE, told)


def a_board(seed: int) -> Rates:
    rng = random.Random(seed + 1_000)
    latency = rng.choice([0.0, 50_000.0, 500_000.0, 2e6])
    return Rates(
        rng.uniform(0.5, 3), latency, rng.uniform(10, 200), rng.uniform(0.1, 3), rng.choice([0.0, 30_000.0])
    )


@pytest.mark.parametrize(("misfit", "often"), [(0.05, 0.1), (0.0, 0.0), (0.15, 0.2)])
def test_the_truth_lies_in_nine_of_ten_intervals(misfit: float, often: float) -> None:
    hits = dict.fromkeys((CPU, COMMANDS, BYTES, LINE), 0)
    told = dict(hits)
    for seed in range(CASES):
        truth = a_board(seed)
        found = fit(rows(seed, truth, misfit=misfit, often=often)).found
        for column in hits:
            rate = found[column]
            if rate.how == FITTED:
                told[column] += 1
                hits[column] += abs(rate.value - truth[column]) <= rate.half
    # With so many cases 9 of 10 is what a board of 95 % seldom falls below.
    assert all(hits[c] * 10 >= told[c] * 9 for c in hits), (hits, told)
    assert told[CPU] == CASES
    assert min(told.values()) * 3 > CASES, told


def test_without_noise_the_rates_are_found() -> None:
    truth = Rates(1.7, 900_000.0, 50.0, 0.25, 0.0)
    found = fit(rows(7, truth, misfit=0, often=0))
    assert found.rates[:4] == pytest.approx(truth[:4], rel=0.02)
    assert all(rate.how == FITTED for rate in found.found)


def test_what_does_not_happen_cannot_be_told() -> None:
    found = [Row((r.amounts[CPU], 0.0, 0.0, r.amounts[LINE], 1.0), r.took_ns, r.took_ns, NOISE_NS)
             for r in rows(3, Rates(2, 0, 0, 1), often=0)]  # fmt: skip
    result = fit(found)
    for column in (COMMANDS, BYTES):
        assert result.found[column].how == KEPT
        assert "almost no time" in result.found[column].why
        assert result.rates[column] == BEFORE[column]
    assert result.found[CPU].value == pytest.approx(2, rel=0.05)


def test_bytes_that_go_with_commands_are_not_told_from_them() -> None:
    truth = Rates(1.5, 300_000.0, 50.0, 1.0)
    alike = []
    for r in rows(5, truth, misfit=0.01, often=0):
        cpu_ns, commands, _, line_ns, lines = r.amounts
        size = 4096 * commands
        took = cpu_ns * 1.5 + commands * 300_000 + size * 50 + line_ns
        alike.append(Row((cpu_ns, commands, size, line_ns, lines), took, took, NOISE_NS))
    result = fit(alike)
    bytes_, commands_ = result.found[BYTES], result.found[COMMANDS]
    assert KEPT in (bytes_.how, commands_.how)
    assert any("vary together with" in rate.why for rate in (bytes_, commands_))
    for column, rate in ((BYTES, bytes_), (COMMANDS, commands_)):
        # What is told all the same owns up to what the other one may hide.
        if rate.how == FITTED:
            assert abs(rate.value - truth[column]) <= rate.half
        else:
            assert rate.value == BEFORE[column]
    assert result.found[CPU].value == pytest.approx(1.5, rel=0.02)


def test_too_few_of_a_kind_are_no_figure() -> None:
    found = rows(11, BEFORE, count=40, misfit=0.1)
    some = [
        Row((r.amounts[CPU], float(n == 5), 0.0, r.amounts[LINE], 1.0), r.took_ns, r.took_ns, NOISE_NS)
        for n, r in enumerate(found)
    ]
    assert fit(some).found[COMMANDS].how == KEPT


def test_one_stretch_with_all_bytes_is_owned_up_to() -> None:
    truth = Rates(1.2, 500_000.0, 40.0, 1.0)
    found = []
    for n, r in enumerate(rows(13, truth, often=0, misfit=0.02)):
        size = 6_000_000.0 if n == 20 else 0.0
        amounts = (r.amounts[0], r.amounts[1], size, r.amounts[3], 1.0)
        took = sum(a * x for a, x in zip(amounts, truth[:MEMORY], strict=True))
        found.append(Row(amounts, took, took, NOISE_NS))
    rate = fit(found).found[BYTES]
    assert (rate.how, round(rate.stretches)) == (FITTED, 1)
    assert "single stretch" in rate.warning


def test_a_rate_that_is_known_is_taken_and_its_error_with_it() -> None:
    truth = Rates(1.5, 500_000.0, 60.0, 0.25)
    found = rows(17, truth)
    result = fit(found, {LINE: Told(0.25, 0.01, "said")})
    assert (result.found[LINE].how, result.rates.line) == (TOLD, 0.25)
    vague = fit(found, {LINE: Told(0.25, 0.2, "said")})
    assert vague.found[CPU].half > result.found[CPU].half


def test_what_each_line_takes_beyond_is_not_put_on_the_others() -> None:
    truth = Rates(1.0, 500_000.0, 88.5, 1.0, 400_000.0)
    result = fit(rows(19, truth, count=200, misfit=0.0, often=0.0))
    assert result.found[EXTRA].value == pytest.approx(400_000, rel=0.1)
    assert abs(result.found[LINE].value - 1) <= result.found[LINE].half


def test_rates_that_decide_what_is_waited_for_are_found_by_turns() -> None:
    # Of each stretch the longer of two ways counts: work of the CPU, or the line.
    rng = random.Random(1)
    ways = [(rng.lognormvariate(16, 1), rng.lognormvariate(16, 1)) for _ in range(80)]
    truth = Rates(2.0, 500_000.0, 88.5, 0.3)

    def taken_apart(rates: Rates) -> list[Row]:
        result = []
        for cpu_ns, line_ns in ways:
            took = max(cpu_ns * truth.cpu, line_ns * truth.line)
            works = cpu_ns * rates.cpu > line_ns * rates.line
            amounts = (cpu_ns, 0.0, 0.0, 0.0, 1.0) if works else (0.0, 0.0, 0.0, line_ns, 1.0)
            result.append(Row(amounts, took, took, 1_000))
        return result

    found = fitted(taken_apart, BEFORE)
    assert (found.rates.cpu, found.rates.line) == pytest.approx((2.0, 0.3), rel=0.02)


def with_memory(found: Sequence[Row], rate: float, share: Callable[[int], float]) -> list[Row]:
    """The same stretches on a core, where each also waits for memory: a share of its work of the CPU."""
    made = []
    for number, row in enumerate(found):
        waited = row.amounts[CPU] * share(number)
        took = row.took_ns + waited * rate
        made.append(Row((*row.amounts, waited), took, took, row.noise_ns))
    return made


def test_memory_has_a_rate_of_its_own_on_a_core() -> None:
    hits = {CPU: 0, MEMORY: 0}
    for seed in range(CASES):
        plain = rows(seed, Rates(1.3, 500_000.0, 88.5, 1.0), misfit=0.02)
        found = fit(with_memory(plain, 1.4, lambda number: number % 5 / 4)).found
        for column, truth in ((CPU, 1.3), (MEMORY, 1.4)):
            assert found[column].how == FITTED and found[column].half < truth / 4
            hits[column] += abs(found[column].value - truth) <= found[column].half
    assert all(count * 10 >= CASES * 9 for count in hits.values()), hits


def test_memory_that_goes_with_instructions_cannot_be_told() -> None:
    plain = rows(6, Rates(1.3, 500_000.0, 88.5, 1.0), count=120)
    memory = fit(with_memory(plain, 1.4, lambda _: 0.25)).found[MEMORY]
    assert memory.how == KEPT and memory.value == 1.0
    assert "the waits for memory vary together with the CPU's work" in memory.why
