# SPDX-License-Identifier: Apache-2.0
"""Initcalls that a system can do without and that took time in its boot, for `initcall_blacklist=`.

The list is a judgement, not proven: each initcall sets up something that the kernel checks before use, and
that only tests, tracing, BPF programs or the checking of keys need. A system's required milestones show
whether it needs one of them.
"""

from __future__ import annotations

from bootscope.analysis.initcalls import name_of
from bootscope.core.errors import UserError
from bootscope.inventory.inventory import Inventory
from bootscope.inventory.recorded import Recorded

SPARE = frozenset(
    (
        "bpf_dummy_struct_ops_init",
        "bpf_tcp_ca_kfunc_init",
        "jent_mod_init",
        "load_system_certificate_list",
        "raid6_select_algo",
        "slab_late_init",
        "trace_eval_init",
        "tracer_init_tracefs",
    )
)
_LEAST_NS = 2_000_000


def spare_initcalls(known: Inventory) -> str:
    """Names of those that took time in this boot, separated by commas; empty where there are none."""
    if not isinstance(known, Recorded):
        raise UserError("which initcalls take time is not known without a recording")
    evidence = known.view.evidence
    calls = [c for c in evidence.scene.of("initcall") if c.first >= 0]
    names = {
        name
        for call in calls
        if (name := name_of(call, evidence)) in SPARE and evidence.ledger.of_call(call).cpu_ns >= _LEAST_NS
    }
    now = (known.word("initcall_blacklist") or "").split(",")
    return ",".join(sorted(names | {name for name in now if name}))


FOUND = {"spare_initcalls": spare_initcalls}
