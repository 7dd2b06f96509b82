# SPDX-License-Identifier: Apache-2.0
"""The description of a boot loader. Each file beside this one fills it in for one boot loader."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Hooked(StrEnum):
    """What is watched in a program of a boot loader. A hook is called after the program and this."""

    START = "start"
    RELOCATE = "relocate"
    """A function that moves the program: its argument `Loader.moves_to` is where to."""
    DELAY = "delay"
    """A loop that waits for a clock; the first argument is how long."""
    INITCALL = "initcall"
    """A function that calls one step of the start-up after the other."""
    PROBE = "probe"
    """A function that starts a device; a pointer to its name is the second word of the first argument."""
    COMMAND = "command"
    """A function that runs a command: flags, number of words, the words."""
    PLACE = "place"
    """A function that is told where a piece of the program has been put."""


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A program of a boot loader.

    `name`: its start in a board profile's `addresses`, and what its hooks are called after. `title` also
    stands before names of its functions and names its image on the card; `phrase` is it in a sentence.
    `symbols` and `code`: what a recording keeps of it, from the files of the build that have these names.
    `linked`: where its build leaves the program. `tree`: what its sources are called, where that is not what
    those of its boot loader are. `pieces`: what a recording keeps of functions whose places are known by
    other means than one table (:class:`bootscope.capture.objects.Pieces`); empty for none. `stays`: it is
    called by what comes after it, at the same addresses. `lies`: where one that stays does so, as (first
    address, first behind it), if it is not all of its functions that stay, or if it may have no symbols.
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
        """The file of a build with them."""
        return f"{self.pieces}.json"

    def hook(self, what: Hooked) -> str:
        """What recordings call a hook in it."""
        return f"{self.name}.{what}"

    @property
    def moves(self) -> bool:
        """Whether it moves itself elsewhere while it runs."""
        return Hooked.RELOCATE in self.functions


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of the chain from power-on to the application; each is a phase of the boot.

    It begins when `hook` is first reached. The first stage has none: it is what the board does before its
    first instruction is seen, and the second begins with that. The stage LOAD begins with the first read of
    the kernel's image. `milestone`: what users call its beginning; empty for none. `program`: of the boot
    loader, which runs then.
    """

    phase: str
    hook: str = ""
    milestone: str = ""
    program: Program | None = None


class Order(IntEnum):
    """Where in a boot a program runs; which of those alike is first differs from chip to chip."""

    FIRST = 0
    """The chip's ROM, or what it starts."""
    SECOND = 1
    EARLY_LOADER = 2
    SECURE = 3
    """What stays beside Linux: firmware of a higher privilege."""
    LOADER = 4
    SYSTEM = 5
    """What a boot loader starts instead of a kernel: another boot loader, a stub, a hypervisor."""


@dataclass(frozen=True, slots=True)
class Banner:
    """The line by which a program says that it runs: `pattern` at its beginning.

    `milestone`: the stage of the boot that begins there; `order`: where in a boot it runs. `text` is in each
    such line, for a quick search of a live console; empty where none is made.
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
    """Techniques against what a boot loader spends, and words for whoever cannot see more."""

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
    """What a boot loader says and does as it starts a kernel. Texts are beginnings of console lines."""

    header: str
    """Announces a kernel with a header; lines of it that follow are indented."""
    tree: str
    """Announces a device tree."""
    moves: str
    """Announces that a kernel with a header is copied to its place."""
    starts: str
    """Its last words."""
    checks: tuple[str, ...]
    """Functions that check and copy what has a header."""
    plain: str
    headed: tuple[str, ...]
    """All that is said of a kernel without a header, and of one with it."""


LOAD = "load"
ROM = Stage("rom")
KERNEL = (
    Stage("decompress", "kernel.image"),
    Stage("kernel", "kernel.start", "kernel-entry"),
    Stage("init", "kernel.init", "init"),
    Stage("application", "application.start", "application"),
)
"""What every chain ends with."""


FIRMWARE = "firmware"
"""What the sources of the programs before a boot loader are called in systems and steps."""


@dataclass(frozen=True, slots=True)
class Firmware:
    """How the programs before a boot loader are built, where they have sources of their own.

    `arguments`: of its make, with `{platform}`, `{build}` and `{payload}` in the place of the platform, the
    folder to build in, and the boot loader's image. `made`: the folder of the build where its images are.
    `image`: what becomes of it. That is put together of `first`, and `package` behind it; where these are
    empty, it is an image of the build. `told_by`: how the boot loader's make is told where the image is, if
    the boot loader's image holds the firmware; empty if the firmware's image holds the boot loader.
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
    """A boot loader. `tree`: what its sources are called in systems, steps and changes; `objects` and
    `config`: what a recording keeps of how they were linked and configured."""

    name: str
    title: str
    tree: str
    objects: str
    config: str
    countdown: str
    """A regular expression for its functions that wait for a key before it boots."""
    script_commands: tuple[str, ...]
    boot_commands: tuple[str, ...]
    """Commands that run a script, and that start a kernel."""
    first_boots_title: str
    """What it is called that the first of its programs starts Linux."""
    settings: Settings
    images: ImageLines
    announced: tuple[Announced, ...]
    cures: Cures
    stages: tuple[Stage, ...]
    """The whole chain, in order: from ROM to KERNEL."""
    clocks: tuple[str, ...] = ()
    """Its functions that tell the time. Who asks them again and again waits until it is late enough."""
    bus_resets: tuple[str, ...] = ()
    """Its functions that wait after they have reset an I2C controller."""
    card_idle: str = ""
    """Its function that makes a card idle: it waits before and after the command."""
    script_file: str = "boot.scr"
    """Its script on the boot partition."""
    wrapped_script: bool = True
    """Whether the script has a header with a checksum."""
    payload: str = ""
    """The image of its build that firmware holds; empty where none does."""
    first_image: str = ""
    card_image: str = ""
    """The image of its build that the board itself holds, and the one that goes to a card as it is; empty
    where a chip's ROM finds both on the card."""
    card_files: tuple[str, ...] = ()
    """Images of its build that are files of the boot partition: what a chip's ROM or the first program finds
    there by name."""
    sector_image: str = ""
    """The image of the code in the card's first sector, before the table of partitions; empty for none."""
    firmware: Firmware | None = None
    """What is built of other sources; None for a boot loader that is all there is."""
    moves_to: int = 0
    """Which argument of the function that moves a program is where to; they count from 0."""
    by_emulator: bool = False
    """Whether kernel and initramfs are put into memory by the emulator; its programs are firmware then."""
    unpacking: Callable[[str, int], str] | None = None
    """Makes of its script one by which it may unpack the kernel, at an address that is free; empty where the
    script starts none so. None for a boot loader that does not unpack kernels."""
    menu_wait_s: Callable[[str], int] | None = None
    """Seconds that a menu in its script waits for a key. None for a boot loader whose waiting is seen."""

    @property
    def boot_images(self) -> tuple[str, ...]:
        """What a boot needs of its build; empty where a chip's ROM says that."""
        return tuple(filter(None, (self.payload, self.first_image, self.card_image, *self.card_files)))

    def tree_of(self, program: Program) -> str:
        """What the sources of one of its programs are called."""
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
        """Those that no boot can do without: all but the one that only loads the kernel."""
        return self.programs[:-1]

    @property
    def main(self) -> Program:
        """The last of its programs, which loads the kernel."""
        return self.programs[-1]

    def program(self, phase: str) -> Program | None:
        """The program that runs in a phase; None for what is no part of the boot loader."""
        return next((stage.program for stage in self.stages if stage.phase == phase), None)

    def phases_of(self, *programs: Program) -> tuple[str, ...]:
        """The phases in which some programs run; in which any runs, when none is named."""
        wanted = programs or self.programs
        return tuple(stage.phase for stage in self.stages if stage.program in wanted)
