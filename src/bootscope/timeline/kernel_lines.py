# SPDX-License-Identifier: Apache-2.0
"""Lines that the kernel and later programs write on every console, as patterns for text without stamps."""

from __future__ import annotations

import re

BEGINS_LATE = r"(?!Kernel: |Restarting ).{1,120}\sLinux version \d\S{0,80} \(\S{1,80}@\S{1,80}\) \(gcc "
"""The same after other words in the line, without a stamp; not those of Android's reports and of a kernel
that stops."""
BEGINS = r"Booting Linux on|Linux version \d"
FREED = r"Freeing (?:unused kernel (?:image (?:\(initmem\) )?)?|init )memory"
INIT = r"Run \S{1,200} as init process"
_NO_HOST = (
    r"(?:[Ll]ast|[Ff]irst|[Ff]ailed|[Ii]nvalid|[Dd]efault|[Uu]ser|[Rr]oot|[Rr]emote|[Ll]ocal|[Cc]onsole"
    r"|[Aa]uto|SSH|[Ww]eb)"
)
LOGIN = (
    r"(?!Last )(?:\S{0,80} ?login: ?"
    r"(?:[\w.-]{1,32}(?: \(automatic login\))? ?$|$|(?=\[ {0,11}\d{1,9}\.\d{6}[\]@]))"
    rf"|(?!{_NO_HOST} )[\w.()-]{{1,64}} login: (?=\S))"
)
"""A prompt, alone or followed by the name, also after other words in the line: of the kernel, or of a program
that is still starting, if a host's name precedes it."""
OTHER_TASK = r"\[\d{1,2}:(?! {0,16}swapper) {0,16}[^\]\n:]{1,32}: {0,8}\d{1,10}\] "
"""A caller of printk with its name that is not the kernel's first task: it may free memory of the kernel's
start long afterwards."""
PANIC, PANIC_END = "Kernel panic - not syncing", "---[ end Kernel panic"
# For most lines the first character alone excludes all of these, which is cheapest.
CALLER = (
    r"(?:(?=[\[(< .*A-Zc-])(?:\[ {0,12}[TC]\d{1,10}\] ?"
    r"|[ A-Z]{0,2}\[\d{1,2}: {0,16}[^\]\n]{1,32}: {0,8}\d{1,10}\] ?"
    r"|(?:<\d{1,2}>)?[ .*-]{0,3}\(\d{1,2}\)\[\d{1,10}:[^\]\n]{1,32}\] ?"
    r"(?:\[ {0,11}\d{1,9}\.\d{6}\]@\d{1,2} )?"
    r"|\[\d{1,2}\] (?=[A-Za-z])|c\d{1,2} {1,8}\d{1,10} (?=\S)"
    r"|\[ {0,11}\d{1,9}\.\d{6}\]@\d{1,2} |<[0-7]>))?"
)
"""The caller of printk, before the message: thread or CPU (CONFIG_PRINTK_CALLER), CPU and process as printed
by Samsung's (``[0: swapper/0: 1] ``) and MediaTek's (``(0)[1:swapper/0]``) kernels, the CPU alone (``[0] ``),
both in older ones (``c0      1 ``), a second clock and the CPU (``[    0.479414]@0 ``, also after
MediaTek's), or the level once more."""
STAMP = re.compile(rf"^\[ *\d+\.\d+(?:@\d{{1,3}})?\] ?{CALLER}")
"""printk's time and caller, as a recorded console has them."""
FINISHED = r"systemd(?:\[1\]: Startup finished in |: ?Startup finished in .{1,60}\(kernel\))"
"""systemd's message that all jobs of the boot are done."""
TARGET = (
    r"(?:\[  OK  \] |systemd\[1\]: )Reached target (?:\S{1,80} - )?(?:Multi-User System|Graphical Interface)"
)
SHELL = r"Please press Enter to activate this console"
INIT_SPEAKS = (
    r"systemd(?:\[1\])?: ?|init(?:\[1\])?: |INIT: (?:version|No inittab|Entering)|procd: - "
    r"|init started: {1,2}BusyBox|[Ss]tarting pid \d{1,5}, (?:tty|console)|\[  OK  \] "
    r"|OpenRC \S{1,20} is starting up |- runit: \$Id: "
)
"""What init programs (systemd, SysV, Android, Upstart, OpenWrt, BusyBox, OpenRC, runit) print about
themselves: init runs by then."""
INIT_TEXTS = (
    "systemd[1]: ", "systemd:", "init: ", "init[1]: ", "INIT: ", "procd: - ", "init started: ",
    "tarting pid ", "[  OK  ] ", "OpenRC ", "- runit: ",
)  # fmt: skip
"""Each such line contains one of these."""
SWITCH = r"\+? ?exec switch_root |(?:systemd(?:\[1\])?: ?|dracut: |init: )?Switching root"
"""The end of an initramfs, as printed by systemd, dracut and Android's first stage of init."""
