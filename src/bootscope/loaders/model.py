# SPDX-License-Identifier: Apache-2.0
"""The description of a boot loader. Each file beside this one provides it for one boot loader."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Hooked(StrEnum):
    """What is watched in a program of a boot loader. A hook's name consists of the program's name and
    this."""

    START = "start"
    RELOCATE = "relocate"
    """A function that moves the program: its argument `Loader.moves_to` is the destination."""
    DELAY = "delay"
    """A loop that waits for a clock; the first argument is the duration."""
    INITCALL = "initcall"
    """A function that calls the steps of the start-up in turn."""
    PROBE = "probe"
    """A function that starts a device; a pointer to its name is the second word of the first argument."""
    COMMAND = "command"
    """A function that runs a command: flags, number of words, words."""
    PLACE = "place"
    """A function that gets the address of a loaded piece of the program."""


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A program of a boot loader.

    `name`: the key of its start in a board profile's `addresses`, and the first part of its hooks' names.
    `title` also precedes names of its functions and names its image on the card; `phrase` is its name in a
    sentence. `symbols` and `code`: what a recording keeps of it, from the files of the build with these
    names. `linked`: the linked program in its build. `tree`: the name of its sources, if not that of its boot
    loader's. `pieces`: what a recording keeps of functions whose addresses are not in one table
    (:class:`bootscope.capture.objects.Pieces`); empty for none. `stays`: later programs call it, at the same
    addresses. `lies`: the address range of one that stays, as (first address, first behind it), if not all of
    its functions stay, or if it may have no symbols.
    """

    name: str
    title: str
    phrase: str
    symbols: str
    symbols_file: str
    code: str
    code_file: str
    functions: Mapping[Hooked, str]
    linked: str
    tree: str = ""
    pieces: str = ""
    stays: bool = False
    lies: tuple[int, int] | None = None

    @property
    def pieces_file(self) -> str:
        """The file of its pieces in a build."""
        return f"{self.pieces}.json"

    def hook(self, what: Hooked) -> str:
        """The name of a hook in it, as in recordings."""
        return f"{self.name}.{what}"

    @property
    def moves(self) -> bool:
        """Whether it relocates itself while it runs."""
        return Hooked.RELOCATE in self.functions


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of the chain from power-on to the application; each is a phase of the boot.

    It begins when `hook` is first reached. The first stage has none: it is the time before the board's first
    visible instruction, at which the second begins. The stage LOAD begins with the first read of the kernel's
    image. `milestone`: the users' name of its beginning; empty for none. `program`: the boot loader's program
    that runs in it.
    """

    phase: str
    hook: str = ""
    milestone: str = ""
    program: Program | None = None


class Order(IntEnum):
    """When a program runs in a boot; the order of programs with the same value differs between chips."""

    FIRST = 0
    """The chip's ROM, or what it starts."""
    SECOND = 1
    EARLY_LOADER = 2
    SECURE = 3
    """Firmware of a higher privilege that stays beside Linux."""
    LOADER = 4
    SYSTEM = 5
    """What a boot loader starts instead of a kernel: another boot loader, a stub, a hypervisor."""


@dataclass(frozen=True, slots=True)
class Banner:
    """The line that shows that a program runs: `pattern` matches at its start.

    `milestone`: the stage of the boot that begins there; `order`: when in a boot it runs. `text` is in each
    such line, for a quick search of a live console; empty where there is no common text.
    """

    pattern: str
    milestone: str
    order: Order
    text: str = ""


@dataclass(frozen=True, slots=True)
class Announced:
    """A console line that announces a phase.

    `early_ns` and `late_ns`: how far before and after the phase's start it normally appears, for this
    `reason`. `pattern` is searched for anywhere in the line.
    """

    phase: str
    pattern: str
    early_ns: int
    late_ns: int
    reason: str


@dataclass(frozen=True, slots=True)
class Cures:
    """Techniques against a boot loader's costs, and words for users who cannot see details."""

    trim: tuple[str, ...]
    countdown: tuple[str, ...]
    silent: tuple[str, ...]
    silent_words: str
    look: str


@dataclass(frozen=True, slots=True)
class Settings:
    """Names of its settings: variables of its environment (`*_variable`), else symbols of its configuration.

    `commands_variable`: commands of a boot without a script. `first_boots`: its first program starts Linux.
    """

    commands_variable: str
    delay_variable: str
    delay: str
    silent_variable: str
    silent: str
    rate: str
    first_boots: str


@dataclass(frozen=True, slots=True)
class ImageLines:
    """Texts and functions of a boot loader as it starts a kernel. Texts are starts of console lines."""

    header: str
    """Announces a kernel with a header; further lines about it are indented."""
    tree: str
    """Announces a device tree."""
    moves: str
    """Announces that a kernel with a header is copied to its address."""
    starts: str
    """Its last line."""
    checks: tuple[str, ...]
    """Functions that check and copy a kernel with a header."""
    plain: str
    headed: tuple[str, ...]
    """All texts for a kernel without a header, and for one with it."""


LOAD = "load"
ROM = Stage("rom")
KERNEL = (
    Stage("decompress", "kernel.image"),
    Stage("kernel", "kernel.start", "kernel-entry"),
    Stage("init", "kernel.init", "init"),
    Stage("application", "application.start", "application"),
)
"""The end of every chain."""


FIRMWARE = "firmware"
"""The name, in systems and steps, of the sources of the programs before a boot loader."""


@dataclass(frozen=True, slots=True)
class Firmware:
    """How the programs before a boot loader are built, where they have sources of their own.

    `arguments`: of its make, with placeholders `{platform}`, `{build}` and `{payload}` for the platform, the
    build folder, and the boot loader's image. `made`: the folder of the build where its images are. `image`:
    the result. It consists of `first` followed by `package`; where these are empty, it is an image of the
    build. `told_by`: the variable of the boot loader's make for the image's path, if the boot loader's image
    holds the firmware; empty if the firmware's image holds the boot loader.
    """

    title: str
    arguments: tuple[str, ...]
    made: str
    image: str
    first: str = ""
    package: str = ""
    told_by: str = ""


@dataclass(frozen=True, slots=True)
class Loader:
    """A boot loader. `tree`: the name of its sources in systems, steps and changes; `objects` and `config`:
    what a recording keeps of their linking and configuration."""

    name: str
    title: str
    tree: str
    objects: str
    config: str
    countdown: str
    """A regular expression for its functions that wait for a key before booting."""
    script_commands: tuple[str, ...]
    boot_commands: tuple[str, ...]
    """Commands that run a script, and that start a kernel."""
    first_boots_title: str
    """The name of the mode in which the first of its programs starts Linux."""
    settings: Settings
    images: ImageLines
    announced: tuple[Announced, ...]
    cures: Cures
    stages: tuple[Stage, ...]
    """The whole chain, in order: from ROM to KERNEL."""
    clocks: tuple[str, ...] = ()
    """Its functions that read the time. Repeated calls mean that the caller waits for a time."""
    bus_resets: tuple[str, ...] = ()
    """Its functions that wait after resetting an I2C controller."""
    card_idle: str = ""
    """Its function that sets a card idle: it waits before and after the command."""
    script_file: str = "boot.scr"
    """Its script on the boot partition."""
    wrapped_script: bool = True
    """Whether the script has a header with a checksum."""
    payload: str = ""
    """The image of its build that firmware contains; empty where none does."""
    first_image: str = ""
    card_image: str = ""
    """The image of its build that the board itself contains, and the one that is copied to a card unchanged;
    empty where a chip's ROM finds both on the card."""
    card_files: tuple[str, ...] = ()
    """Images of its build that are files of the boot partition, which a chip's ROM or the first program finds
    by name."""
    sector_image: str = ""
    """The image of the code in the card's first sector, before the partition table; empty for none."""
    firmware: Firmware | None = None
    """Programs that are built from other sources; None for a boot loader without such programs."""
    moves_to: int = 0
    """Which argument of the function that moves a program is the destination; they count from 0."""
    by_emulator: bool = False
    """Whether the emulator loads kernel and initramfs into memory; its programs are firmware then."""
    unpacking: Callable[[str, int], str] | None = None
    """Changes its script so that it can unpack the kernel, using a free address; returns an empty text where
    the script starts no kernel in that way. None for a boot loader that does not unpack kernels."""
    menu_wait_s: Callable[[str], int] | None = None
    """Seconds that a menu in its script waits for a key. None for a boot loader whose waiting is recorded."""

    @property
    def boot_images(self) -> tuple[str, ...]:
        """The images of its build that a boot needs; empty where a chip's ROM determines that."""
        return tuple(filter(None, (self.payload, self.first_image, self.card_image, *self.card_files)))

    def tree_of(self, program: Program) -> str:
        """The name of the sources of one of its programs."""
        return program.tree or self.tree

    @property
    def phases(self) -> tuple[str, ...]:
        """All phases of a boot, in order."""
        return tuple(stage.phase for stage in self.stages)

    @property
    def programs(self) -> tuple[Program, ...]:
        """Its programs, in the order in which they run."""
        return tuple(dict.fromkeys(stage.program for stage in self.stages if stage.program))

    @property
    def last(self) -> Program | None:
        """The last of its programs; None where the emulator starts the kernel itself."""
        return None if self.by_emulator else next(reversed(self.programs), None)

    @property
    def first(self) -> Program:
        """The first of its programs."""
        return self.programs[0]

    @property
    def needed(self) -> tuple[Program, ...]:
        """Those that every boot needs: all but the one that only loads the kernel."""
        return self.programs[:-1]

    @property
    def main(self) -> Program:
        """The last of its programs, which loads the kernel."""
        return self.programs[-1]

    def program(self, phase: str) -> Program | None:
        """The program that runs in a phase; None for a phase outside of the boot loader."""
        return next((stage.program for stage in self.stages if stage.phase == phase), None)

    def phases_of(self, *programs: Program) -> tuple[str, ...]:
        """The phases in which the given programs run; without programs, those in which any runs."""
        wanted = programs or self.programs
        return tuple(stage.phase for stage in self.stages if stage.program in wanted)
