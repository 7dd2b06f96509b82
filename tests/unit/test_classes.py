# SPDX-License-Identifier: Apache-2.0
"""Classes of instructions: the rules for ARM's code beside the disassembler, and the plugin's counting."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import capstone
import pytest
from capstone import arm_const

from bootscope.arch.arm_classes import ARM_CLASSES
from bootscope.arch.model import Rule
from bootscope.core.paths import plugin_source_dir
from bootscope.cores.counts import Count
from bootscope.emulator.timing_pass import class_line

CLASSES = (
    *(Count.MULTIPLY, Count.DIVIDE, Count.SHIFT, Count.SCALED, Count.MORE_REGISTERS),
    *(Count.LOAD_USE, Count.NARROW_USE),
)
MAIN = r"""
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "classes.h"
#include "watch_classes.h"

struct qemu_plugin_insn { size_t size; uint32_t opcode; };
struct qemu_plugin_tb { size_t n; struct qemu_plugin_insn insn[64]; };

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb) { return tb->n; }
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i)
{
	return (struct qemu_plugin_insn *)&tb->insn[i];
}
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn) { return insn->size; }
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *to, size_t n)
{
	memcpy(to, &insn->opcode, n < insn->size ? n : insn->size);
	return insn->size;
}

int main(void)
{
	static struct bs_watch w;
	char text[4096];

	while (fgets(text, sizeof(text), stdin)) {
		if (*text == '!') { /* a block: size and opcode of each instruction */
			static struct qemu_plugin_tb tb;
			uint8_t counts[BS_N_CLASSES] = {0};
			char *at = text + 1;

			for (tb.n = 0; *at != '\n'; tb.n++) {
				tb.insn[tb.n].size = strtoul(at, &at, 0);
				tb.insn[tb.n].opcode = (uint32_t)strtoul(at, &at, 0);
			}
			bs_classes_count(&w.timing, &tb, counts);
			for (int i = 0; i < BS_N_CLASSES; i++)
				printf("%d%c", counts[i], i + 1 < BS_N_CLASSES ? ' ' : '\n');
			continue;
		}
		struct bs_line l = bs_line_split(text);
		bool good = !strcmp(l.word[0], "costs") ? bs_watch_add_costs(&w, &l)
			: !strcmp(l.word[0], "loads") ? bs_watch_add_loads(&w, &l)
			: !strcmp(l.word[0], "split") ? bs_watch_set_split(&w, &l)
			: bs_watch_add_reads(&w, &l);
		if (!good)
			return 2;
	}
	return 0;
}
"""
MUL, SDIV, LDM, LSL_R = 0xE0020190, 0xE712F110, 0xE8B000F0, 0xE1A02113  # mul r2, r0, r1; ...; lsl r2, r3, r1
LDR, LDRB, LDRH = 0xE5912000, 0xE5D12000, 0xE1D120B0  # r2 from [r1]
USE, STORE, OTHER = 0xE0823003, 0xE5802000, 0xE0855006  # add r3, r2, r3; str r2, [r0]; add r5, r5, r6
SCALED, PLAIN, BX = 0xE7912104, 0xE7912004, 0xE12FFF1E  # ldr r2, [r1, r4, lsl #2]; ldr r2, [r1, r4]; bx lr

BY_REGISTER = [getattr(arm_const, f"ARM_SFT_{name}_REG") for name in ("LSL", "LSR", "ASR", "ROR")]

RARE = ("msr", "mrs", "nop", "hint", "dbg", "sev", "wf", "yield", "esb", "csdb")
"""Instructions of the system, which no rule tells apart from sums."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin's counting as a program that reads lines of the watch file, and blocks."""
    folder, plugin = tmp_path_factory.mktemp("classes"), plugin_source_dir()
    (folder / "main.c").write_text(MAIN)
    # What other lines of the watch file need is not called, and left out.
    sources = [plugin / f"{name}.c" for name in ("classes", "watch_classes", "watch_line")]
    flags = ["-std=c17", "-O1", f"-I{plugin}", "-ffunction-sections", "-Wl,--gc-sections"]
    made = folder / "classes"
    subprocess.run(["cc", *flags, "-o", made, folder / "main.c", *sources], check=True)
    return made


def counted(program: Path, *blocks: list[tuple[int, int]]) -> list[dict[Count, int]]:
    """What the plugin counts in blocks of (size, opcode), by ARM's rules."""
    lines = [class_line(rule) for rule in ARM_CLASSES]
    lines += ["!" + " ".join(f"{size} {opcode:#x}" for size, opcode in block) for block in blocks]
    done = subprocess.run(
        [program], input="\n".join(lines) + "\n", text=True, capture_output=True, check=True
    )
    rows = [[int(word) for word in line.split()] for line in done.stdout.splitlines()]
    return [{k: n for k, n in zip(CLASSES, row, strict=True) if n} for row in rows]


def arm(*opcodes: int) -> list[tuple[int, int]]:
    return [(4, opcode) for opcode in opcodes]


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (arm(MUL), {Count.MULTIPLY: 1}),
        (arm(SDIV), {Count.DIVIDE: 1}),
        (arm(LSL_R), {Count.SHIFT: 1}),
        (arm(SCALED, PLAIN), {Count.SCALED: 1}),
        (arm(LDM), {Count.MORE_REGISTERS: 3}),
        (arm(BX, OTHER), {}),
        (arm(LDR, USE), {Count.LOAD_USE: 1}),
        (arm(LDR, STORE), {Count.LOAD_USE: 1}),
        (arm(LDR, OTHER, USE), {}),
        (arm(LDRB, USE), {Count.NARROW_USE: 2}),
        (arm(LDRH, OTHER, USE), {Count.NARROW_USE: 1}),
        (arm(LDRB, OTHER, OTHER, USE), {}),
        # What is not ARM's code is told by an instruction of another size.
        ([*arm(MUL, LDR, USE), (2, 0x4770)], {}),
    ],
)
def test_a_block_is_counted(program: Path, block: list[tuple[int, int]], expected: dict[Count, int]) -> None:
    assert counted(program, block) == [expected]


def test_lines_that_say_nothing_are_refused(program: Path) -> None:
    good = "costs multiply 4 0xff 0x1"
    for line in (
        *("costs 4 0xff 0x1", "costs many 4 0xff 0x1", "costs quick 4 0xff 0x1", "costs multiply 0 0xff 0x1"),
        *(
            "loads word 4 0xff 0x1",
            "loads long 4 0xff 0x1 0 4",
            "reads 4 0xff 0x1 0",
            "reads 4 0xff 0x1 64 4",
        ),
        *(f"{good}\ncosts divide 2 0xff 0x1", "split 3 8", "split 8"),
    ):
        assert subprocess.run([program], input=line + "\n", text=True, check=False).returncode == 2, line


def first(kind: str, opcode: int) -> Rule | None:
    """The rule of a kind that holds for an instruction."""
    rules = (rule for rule in ARM_CLASSES if rule.kind.split()[0] == kind)
    return next((rule for rule in rules if opcode & rule.opcode.mask == rule.opcode.value), None)


def fields(rule: Rule | None, opcode: int) -> set[int]:
    return {opcode >> at & (1 << bits) - 1 for at, bits in rule.fields} if rule else set()


def test_rules_read_what_the_disassembler_reads() -> None:
    """Registers of random instructions that the kernel's code is made of, by both."""
    reader = capstone.Cs(capstone.CS_ARCH_ARM, capstone.CS_MODE_ARM)
    reader.detail = True
    numbers = {getattr(arm_const, f"ARM_REG_R{n}"): n for n in range(13)}
    numbers |= {arm_const.ARM_REG_SP: 13, arm_const.ARM_REG_LR: 14, arm_const.ARM_REG_PC: 15}
    families = (  # (bits that are given, their values): moves and sums, loads and stores, products
        *((0x0E000010, 0x00000000), (0x0E000090, 0x00000010), (0x0E000000, 0x02000000)),
        *((0x0E000000, 0x04000000), (0x0E000010, 0x06000000), (0x0FE0F0F0, 0x00000090)),
        *((0x0FE000F0, 0x00200090), (0x0E1000F0, 0x001000B0), (0x0E1000F0, 0x000000B0)),
    )
    drawn, seen = random.Random(9), 0
    for _ in range(6000):
        mask, value = drawn.choice(families)
        opcode = 0xE0000000 | drawn.getrandbits(28) & ~mask | value
        insns = list(reader.disasm(opcode.to_bytes(4, "little"), 0))
        if not insns or insns[0].mnemonic.startswith(RARE):
            continue
        (insn,) = insns
        read, written = ({numbers[r] for r in regs if r in numbers} for regs in insn.regs_access())
        # Capstone leaves out the register that says how far another one is shifted.
        read |= {numbers[o.shift.value] for o in insn.operands if o.shift.type in BY_REGISTER}
        rule = first("reads", opcode)
        if rule and (rule.opcode.mask, rule.opcode.value) != (0x0F900000, 0x01000000):
            seen += 1
            assert read <= fields(rule, opcode), insn
            # A register that is told but not read is one that the instruction has no use for: 0.
            assert fields(rule, opcode) - read <= {0, *written}, insn
        loads = first("loads", opcode)
        if loads and insn.mnemonic.startswith("ldr") and not insn.mnemonic.startswith("ldrd"):
            assert fields(loads, opcode) <= written, insn
    assert seen > 2000
