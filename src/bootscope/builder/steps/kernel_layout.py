# SPDX-License-Identifier: Apache-2.0
"""Offsets of kernel structure members that the views need, found with the kernel's own compiler flags.

The build stays as it is: no debug information, no option. A file of ours is compiled beside the kernel
with the command that compiled one of the kernel's, and the resulting assembler text is read.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from bootscope.builder.step import Context
from bootscope.core.errors import ToolError

LAYOUT = "layout.json"
_MODEL = "init/main.o"
_HEADERS = (
    "async", "binfmts", "bio", "blkdev", "dcache", "device", "fs", "interrupt", "irq", "irqdesc", "mm",
    "mm_types", "module", "pagemap", "sched", "workqueue",
)  # fmt: skip
"""In the folder include/linux."""
STRUCTS = {
    "task_struct": ("comm", "pid", "tgid", "flags", "__state", "mm"),
    "linux_binprm": ("filename",),
    "device": ("init_name", "kobj.name"),
    "device_driver": ("name",),
    "module": ("name",),
    "bio": ("bi_iter.bi_sector", "bi_iter.bi_size", "bi_opf", "bi_io_vec"),
    "bio_vec": ("bv_page",),
    "page": ("mapping", "index"),
    "vm_fault": ("vma", "pgoff"),
    "vm_area_struct": ("vm_file",),
    "address_space": ("host",),
    "inode": ("i_ino", "i_dentry"),
    "dentry": ("d_u.d_alias", "d_name.name", "d_parent"),
    "file": ("f_path.dentry", "f_inode"),
    "irq_desc": ("action", "irq_data.irq"),
    "irqaction": ("name",),
    "work_struct": ("func",),
    "readahead_control": ("mapping",),
}
SOCKETS = {
    "sk_buff": ("data", "len"),
    "sock": ("sk_receive_queue",),
    "unix_sock": ("addr",),
    "unix_address": ("name",),
}
"""Members needed to observe datagrams; only included where this is requested."""
_SOCKET_HEADERS = ("linux/skbuff", "net/sock", "net/af_unix")
_FOUND = re.compile(r"->bs (\S+) #?(\d+)")


def find(context: Context, build: Path) -> dict[str, int]:
    """Member (`task_struct.comm`) -> offset in bytes, for the kernel built in `build`.

    Members that this version of the kernel does not have are left out. Raises ToolError when no offset
    can be found.
    """
    return asked(context, build, _command(build))


def asked(
    context: Context, at: Path, command: list[str], structs: Mapping[str, Sequence[str]] = STRUCTS
) -> dict[str, int]:
    """The same for a kernel one of whose files `command`, run in the folder `at`, compiles; `structs`:
    structure -> its members."""
    members = [f"{struct}.{member}" for struct, names in structs.items() for member in names]
    found = _ask(context, at, command, members)
    if not found:
        for member in members:
            found |= _ask(context, at, command, [member])
    if not found:
        raise ToolError("the layout of the kernel's structures was not found")
    return found


def write(context: Context, layout: dict[str, int]) -> None:
    """Writes LAYOUT into the step's result."""
    text = json.dumps(layout, indent=1, sort_keys=True)
    (context.out / LAYOUT).write_text(text + "\n")


def _command(build: Path) -> list[str]:
    """The compiler call for one of the kernel's own files, without the names of its input and output."""
    try:
        text = (build / "init" / ".main.o.cmd").read_text()
        match = re.match(r"(?:saved)?cmd_\S+ := (.*)", text)
        words = shlex.split(match[1].split(" ; ")[0].split(" && ")[0]) if match else []
        end = words.index("-c")
    except (OSError, ValueError) as error:
        raise ToolError("the kernel build does not say how it compiled init/main.c") from error
    return [w for w in words[:end] if not w.startswith("-Wp,-MMD")]


def _ask(context: Context, build: Path, command: list[str], members: list[str]) -> dict[str, int]:
    source, output = context.scratch / "layout.c", context.scratch / "layout.s"
    # Some versions of the kernel lack some of them.
    headers = [f"linux/{name}" for name in _HEADERS]
    if any(member.partition(".")[0] in SOCKETS for member in members):
        headers += _SOCKET_HEADERS
    lines = [f"#if __has_include(<{h}.h>)\n#include <{h}.h>\n#endif" for h in headers]
    lines += ["void bs_layout(void);", "void bs_layout(void)", "{"]
    for member in members:
        struct, _, name = member.partition(".")
        lines.append(f'\tasm volatile("\\n@->bs {member} %c0" : : "i" (offsetof(struct {struct}, {name})));')
    source.write_text("\n".join([*lines, "}", ""]))
    try:
        context.run([*command, "-S", "-o", output, source], cwd=build)
    except ToolError:
        return {}
    return {name: int(offset) for name, offset in _FOUND.findall(output.read_text())}
