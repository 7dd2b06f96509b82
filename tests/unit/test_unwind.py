# SPDX-License-Identifier: Apache-2.0
"""Call paths from stack samples: proven by the code, never made up from what lies around."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bootscope.analysis.unwind import MOST_FRAMES, Path, Unwinder

from .builders import stack
from .elf import TEXT, Fn, addresses, arm, code, thumb

NOP, BX_LR = 0xE320F000, 0xE12FFF1E
ROOT = Fn("start_kernel", arm(*[NOP] * 8))
CALLER = Fn("caller", arm(0xE92D4010, *[NOP] * 6, 0xE8BD8010))  # push {r4, lr} ... pop {r4, pc}
ROOTS = frozenset({"start_kernel", "by_hand"})


def places(function: Fn) -> dict[str, int]:
    """Where the functions of the program lie."""
    return addresses(ROOT, CALLER, function)


def unwind(
    function: Fn,
    at: int,
    words: dict[int, int],
    lr: int = 0,
    offset: int = 0,
    marks: dict[str, int] | None = None,
) -> tuple[list[str], bool]:
    """Names of the callers found from `at` bytes into a function, and whether the path was cut."""
    program = code(ROOT, CALLER, function, marks=marks)
    unwinder = Unwinder(program, offset, ROOTS)
    found = unwinder.path(stack(0, places(function)[function.name] + at + offset, lr, words))
    functions = [unwinder.function(address - 2) for address in found.addresses]
    return [f.name for f in functions if f], found.cut


IN_ROOT, IN_CALLER = TEXT + 8, TEXT + 32 + 8
IN_STALE = TEXT + 32 + 16
"""An old return address that still lies on the stack: in the caller, but not where it called."""
WHOLE = (["caller", "start_kernel"], False)


PUSH_20 = "f0402de914d04de200f020e314d08de2f080bde8"
APCS = "0dc0a0e100d82de904b04ce208d04de200f020e30cd04be200a89de8"
EARLY = "0dc0a0e100d82de904b04ce2000050e30100000a0cd04be200a89de800f020e3fdffffea"


# Code, offset of the program counter; the word of the stack where its return address then lies, and how
# many words its frame has.
@pytest.mark.parametrize(
    ("text", "at", "word", "size"),
    [
        pytest.param("10402de900f020e300f020e31080bde8", 4, 1, 2, id="push {r4, lr}"),
        pytest.param(PUSH_20, 8, 9, 10, id="push {r4-r7, lr}; sub sp, #20"),
        pytest.param(PUSH_20, 4, 4, 5, id="before the sub"),
        pytest.param("10402de9048b2ded00f020e3048bbdec1080bde8", 8, 5, 6, id="vpush {d8-d9}"),
        pytest.param("10402de9038a2ded00f020e31080bde8", 8, 4, 5, id="vpush {s16-s18}"),
        pytest.param(
            "04e02de50cd04de200f020e30cd08de204f09de4", 8, 3, 4, id="str lr, [sp, #-4]!; sub sp, #12"
        ),
        pytest.param(APCS, 16, 4, 6, id="push {fp, ip, lr, pc}; sub sp, #8"),
        pytest.param(EARLY, 28, 2, 4, id="behind an early return by the frame pointer"),
        pytest.param("0f002de910402de900f020e31040bde810d08de21eff2fe1", 8, 1, 6, id="push {r0-r3}; push"),
        pytest.param(
            "f0416de10ce08de500f020e30ce09de5d041cde01eff2fe1", 8, 3, 4, id="strd, [sp, #-16]!; str"
        ),
    ],
)
def test_arm_code_says_where_its_return_address_lies(text: str, at: int, word: int, size: int) -> None:
    words = {n: IN_STALE for n in range(24)} | {word: IN_CALLER, size + 1: IN_ROOT}
    assert unwind(Fn("f", text), at, words) == WHOLE


@pytest.mark.parametrize(
    ("text", "at", "word", "size"),
    [
        pytest.param("10b500bf10bd", 2, 1, 2, id="push {r4, lr}"),
        pytest.param("f0b583b000bf03b0f0bd", 4, 7, 8, id="push {r4-r7, lr}; sub sp, #12"),
        pytest.param("2de9f041adf5027d00bf0df5027dbde8f081", 8, 135, 136, id="push.w; sub.w sp, #520"),
        pytest.param("00b5adf2fc3d00bf7047", 6, 255, 256, id="push {lr}; subw sp, #1020"),
        pytest.param("4df804ed00bf5df804fb", 4, 0, 1, id="str.w lr, [sp, #-4]!"),
        pytest.param("4df80ced00bf5df80cfb", 4, 0, 3, id="str.w lr, [sp, #-12]!"),
    ],
)
def test_thumb_code_says_where_its_return_address_lies(text: str, at: int, word: int, size: int) -> None:
    words = {n: IN_STALE for n in range(300)} | {word: IN_CALLER, size + 1: IN_ROOT}
    assert unwind(Fn("f", text, thumb=True), at, words) == WHOLE


def test_a_leaf_returns_to_its_link_register() -> None:
    leaf = Fn("leaf", arm(0xE0800001, BX_LR))
    assert unwind(leaf, 4, {1: IN_ROOT, 0: IN_STALE}, lr=IN_CALLER) == WHOLE


def test_at_its_first_instruction_a_function_has_saved_nothing() -> None:
    assert unwind(Fn("f", arm(0xE92D4010, NOP, 0xE8BD8010)), 0, {1: IN_ROOT}, lr=IN_CALLER) == WHOLE


def test_the_lowest_bit_of_an_address_tells_thumb_code_and_is_no_part_of_it() -> None:
    assert unwind(Fn("f", thumb(0xB510, 0xBF00, 0xBD10), True), 2, {1: IN_CALLER | 1, 3: IN_ROOT}) == WHOLE


def test_old_addresses_on_the_stack_are_no_frames() -> None:
    """Only the word that the code says counts; when that is none, the path is cut."""
    everything = dict.fromkeys(range(64), IN_CALLER)
    del everything[1]
    assert unwind(Fn("f", arm(0xE92D4010, NOP, 0xE8BD8010)), 4, everything) == ([], True)


def test_a_frame_of_a_size_that_nobody_knows_cuts_the_path() -> None:
    alloca = Fn("f", "00482de904b08de200d04de000f020e304d04be20088bde8")
    assert unwind(alloca, 12, dict.fromkeys(range(64), IN_CALLER)) == ([], True)
    assert unwind(alloca, 8, {1: IN_CALLER, 3: IN_ROOT}) == WHOLE


def test_a_link_register_that_a_call_has_used_is_not_believed() -> None:
    """Hand-written code may keep its return address anywhere: lr then points into the code itself."""
    odd = Fn("odd", arm(0xE1A0600E, 0xEBFFFFFE, NOP, 0xE1A0F006))  # mov r6, lr; bl; nop; mov pc, r6
    assert unwind(odd, 8, {1: IN_CALLER}, lr=places(odd)["odd"] + 8) == ([], True)


def test_a_function_without_a_frame_has_no_caller_but_at_the_top() -> None:
    """A caller must have saved lr, or it could not have called."""
    frameless = Fn("frameless", arm(NOP, NOP, NOP, BX_LR))
    leaf = Fn("leaf", arm(0xE0800001, BX_LR))
    program = code(ROOT, frameless, leaf)
    at = addresses(ROOT, frameless, leaf)
    found = Unwinder(program, 0, ROOTS).path(
        stack(0, at["leaf"] + 4, at["frameless"] + 8, {0: IN_ROOT, 1: IN_ROOT})
    )
    assert found == Path((at["frameless"] + 8,), True)


def test_a_program_that_moved_is_unwound_where_it_runs() -> None:
    offset = 0x10000000
    words = {1: IN_CALLER + offset, 3: IN_ROOT + offset}
    f = Fn("f", arm(0xE92D4010, NOP, 0xE8BD8010))
    assert unwind(f, 4, words, offset=offset) == WHOLE
    assert unwind(f, 4, {1: IN_CALLER, 3: IN_ROOT}, offset=offset) == ([], True)


def test_hand_written_code_without_a_size_is_a_root() -> None:
    f = Fn("f", arm(0xE92D4010, NOP, 0xE8BD8010))
    behind = places(f)["f"] + 0x100
    assert unwind(f, 4, {1: behind + 8}, marks={"by_hand": behind}) == ([], False)
    assert unwind(f, 4, {1: behind + 8}, marks={"other": behind}) == ([], True)


@pytest.mark.parametrize(
    "name", ["sys_read", "ksys_read", "__se_sys_openat", "kthread", "kernel_init", "board_init_r"]
)
def test_what_hand_written_code_enters_without_a_call_ends_a_path(name: str) -> None:
    """Its return address follows no call, so it is not among the words of a sample."""
    assert unwind(Fn(name, arm(0xE92D4010, NOP, 0xE8BD8010)), 4, {}) == ([], False)
    assert unwind(Fn(f"{name}2x", arm(0xE92D4010, NOP, 0xE8BD8010)), 4, {})[1] is not name.startswith(
        ("sys", "ksys", "__se")
    )


def test_outside_of_functions_there_is_no_path() -> None:
    program = code(ROOT, CALLER)
    assert Unwinder(program, 0, ROOTS).path(stack(0, 0x10, IN_CALLER)) == Path((), True)
    assert Unwinder(code(), 0, ROOTS).path(stack(0, TEXT, TEXT)) == Path((), True)


def test_endless_recursion_ends() -> None:
    words = {1 + 2 * n: IN_CALLER for n in range(1000)}
    found = Unwinder(code(ROOT, CALLER), 0, ROOTS).path(stack(0, IN_CALLER, 0, words))
    assert (len(found.addresses), found.cut) == (MOST_FRAMES, True)


ANY = [
    Fn("a", "10402de900f020e3", False),
    Fn("b", "10b500bf10bd", True),
    Fn("c", "f0416de10ce08de500f020e3", False),
]


@given(
    st.binary(min_size=4, max_size=60),
    st.booleans(),
    st.integers(0, 80),
    st.integers(0, (1 << 32) - 1),
    st.dictionaries(st.integers(0, 400), st.integers(TEXT - 8, TEXT + 200), max_size=40),
)
def test_any_code_and_any_stack_give_a_path(
    text: bytes, is_thumb: bool, at: int, lr: int, words: dict[int, int]
) -> None:
    program = code(*ANY, Fn("f", text.hex(), is_thumb))
    unwinder = Unwinder(program, 0, ROOTS)
    found = unwinder.path(stack(0, TEXT + at, lr, words))
    assert len(found.addresses) <= MOST_FRAMES
    allowed = {lr & ~1, *(value & ~1 for value in words.values())}
    assert set(found.addresses) <= allowed
    assert all(unwinder.function(address - 2) for address in found.addresses)
