# SPDX-License-Identifier: Apache-2.0
"""Rules for the tests themselves: they use public names, hand in what they replace, and wait for conditions
rather than for the clock. Each exception has its reason."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from .builders import ROOT

TESTS = ROOT / "tests"
PUBLIC = {"_replace", "_exit"}
"""Names of Python's own that begin with a line and belong to everybody."""

PRIVATE = {
    "tests/unit/search_scenes.py": "its own bench, whose threads share a counter",
    "tests/unit/test_optimize_end.py": "the journal's outcomes have no public name",
    "tests/unit/test_options.py": "argparse has no public way to ask for the options of a parser",
    "tests/unit/test_scheduler.py": "that no thread outlives a scheduler can be seen nowhere else",
}
LIMIT = "a limit that no test could reach otherwise"
SOURCE = "what is kept depends on the program's own files, which a test cannot change"
OUTSIDE = "the tools, the network or the board behind it are not there"
PATCHED = {
    "tests/readers/test_analyser.py": LIMIT,
    "tests/unit/conftest.py": "the list of formats, so that a new one changes no test of importing",
    "tests/unit/test_artefacts_hostile.py": LIMIT,
    "tests/unit/test_bench.py": OUTSIDE,
    "tests/unit/test_board_resume.py": OUTSIDE,
    "tests/unit/test_bootimage_wrong.py": LIMIT,
    "tests/unit/test_build_told.py": OUTSIDE,
    "tests/unit/test_check_comments.py": "the seconds that a server is waited for",
    "tests/unit/test_check_webhook.py": "the seconds that a server is waited for",
    "tests/unit/test_culprits.py": "the width of the terminal",
    "tests/unit/test_doctor.py": "what this computer has",
    "tests/unit/test_experiment.py": "the catalogue",
    "tests/unit/test_filesystem_steps.py": "a checkout without the library's source, and a tool without it",
    "tests/unit/test_forecast.py": OUTSIDE,
    "tests/unit/test_import_views.py": "a disk that is full",
    "tests/unit/test_index.py": f"{LIMIT}; {SOURCE}",
    "tests/unit/test_initramfs.py": OUTSIDE,
    "tests/unit/test_kept_reading.py": SOURCE,
    "tests/unit/test_optimize.py": "the measured savings",
    "tests/unit/test_optimize_end.py": "the program's hash, the answers of a service",
    "tests/unit/test_reproduce.py": "the folder of the published tables",
    "tests/unit/test_rootfs.py": OUTSIDE,
    "tests/unit/test_scheduler.py": f"a fault of the program itself; {SOURCE}",
    "tests/unit/test_search_end.py": "the table of measured savings",
    "tests/unit/test_search_verb.py": "a search that ends at once",
    "tests/unit/test_statistics.py": LIMIT,
    "tests/unit/test_stories.py": "the folder of the stories",
    "tests/unit/test_tables.py": "the folder of the published tables",
    "tests/unit/test_trim.py": OUTSIDE,
    "tests/unit/test_trim_cli.py": LIMIT,
    "tests/unit/test_widths.py": "the width of the terminal",
}
SLEEPING = {
    "tests/board/": "boards, farms and analysers made of programs live in real time",
    "tests/prebuilt/test_cluster_kept_up.py": "a worker comes back late, as on a busy computer",
    "tests/unit/platforms.py": "a server answers late",
    "tests/lab/test_endings.py": "a recorder is killed somewhere in its work: any moment will do",
    "tests/unit/test_filesystems.py": "file systems keep times in seconds: the second image must come later",
    "tests/unit/test_interrupts.py": "signals come at several moments: any of them will do",
}


@cache
def trees() -> list[tuple[str, ast.Module]]:
    return [(str(p.relative_to(ROOT)), ast.parse(p.read_text())) for p in sorted(TESTS.rglob("*.py"))]


def test_tests_use_what_is_public() -> None:
    found = {name: [*private_names(tree)] for name, tree in trees()}
    assert {name: names for name, names in found.items() if names and name not in PRIVATE} == {}
    assert {name for name in PRIVATE if not found.get(name)} == set(), "no longer exceptions"


def private_names(tree: ast.Module) -> Iterator[str]:
    """Private names of others that a module imports, reads or replaces."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (alias.name for alias in node.names if is_private(alias.name))
        elif isinstance(node, ast.Attribute) and is_private(node.attr):
            yield from [node.attr] if ast.unparse(node.value) not in ("self", "cls") else []
        elif isinstance(node, ast.Call) and is_patch(node):
            texts = [str(a.value) for a in node.args[:2] if isinstance(a, ast.Constant)]
            yield from (text for text in texts if is_private(text.rpartition(".")[2]))


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC


def is_patch(call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("setattr", "patch", "object"):
        return False
    return call.func.attr == "setattr" or ast.unparse(call.func).startswith("mock.patch")


def test_tests_hand_in_what_they_replace() -> None:
    found = {name: [*patched(tree)] for name, tree in trees()}
    assert {name: names for name, names in found.items() if names and name not in PATCHED} == {}
    assert {name for name in PATCHED if not found.get(name)} == set(), "no longer exceptions"


def patched(tree: ast.Module) -> Iterator[str]:
    """The names of modules of bootscope that are replaced. (Python's own may be.)"""
    modules = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bootscope")
        for alias in node.names
        if is_module(f"{node.module}.{alias.name}")
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and is_patch(node):
            target = node.args[0]
            text = str(target.value) if isinstance(target, ast.Constant) else ast.unparse(target)
            if text in modules or text.startswith("bootscope."):
                yield ast.unparse(node)


def is_module(name: str) -> bool:
    path = ROOT / "src" / Path(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").exists()


def test_tests_wait_for_conditions() -> None:
    found = {name: [*sleeps(tree)] for name, tree in trees()}
    loud = {name: lines for name, lines in found.items() if lines and not name.startswith((*SLEEPING,))}
    assert loud == {}, "mark them alone, or wait for a condition"
    idle = {
        prefix for prefix in SLEEPING if not any(found[name] for name in found if name.startswith(prefix))
    }
    assert idle == set(), "no longer exceptions"


def sleeps(node: ast.AST) -> Iterator[str]:
    """Calls of time.sleep outside loops that wait for something, in what is not marked `alone`."""
    if isinstance(node, ast.While) or any("mark.alone" in mark for mark in marks(node)):
        return
    if isinstance(node, ast.Attribute) and node.attr == "sleep" and ast.unparse(node.value) == "time":
        yield f"line {node.lineno}"
    for child in ast.iter_child_nodes(node):
        yield from sleeps(child)


def marks(node: ast.AST) -> list[str]:
    """The marks of a test, or of all tests of a module."""
    if isinstance(node, ast.Module):
        return [
            ast.unparse(n.value)
            for n in node.body
            if isinstance(n, ast.Assign) and "pytestmark" in ast.unparse(n)
        ]
    return [ast.unparse(mark) for mark in getattr(node, "decorator_list", [])]
