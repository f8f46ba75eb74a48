"""Machines frozen when they had just booted, and clones of them, which start in a second.

A template is a directory: the machine's memory (``ram``), a layer over each of its disks, the
state of its devices (``state``) and what its console said.  Clones map the memory for
themselves and write to layers of their own, so nobody ever changes a template.  It holds
nothing of the code under test: that comes to each clone on a disk which the frozen machine has
never read.  docs/lab.md tells when a template is made anew and how much room all may take.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from qemu.qmp import QMPError

from lab import accelerator, boot, cache, faults, ledger, progress
from lab.boot import Running
from lab.command import run
from lab.devices import Disk, Place
from lab.paths import CACHE
from lab.qemu import Config
from lab.shell import ShellError

TEMPLATES = CACHE / "templates"
#: Machines that are not frozen: a clone would need the very processor state that KVM keeps.
_COLD_ACCELERATORS = ("kvm",)
#: Bytes on disk that all templates may have together; the longest unused go first.
#: What all tests start from must fit: of less, each run would find the very ones gone that it wants next.
ROOM = 32 << 30
#: What they leave free for everything else, however few of them remain.
_LEFT_FREE = 8 << 30
#: What must be free on the cache's disk before one is made: a memory file that cannot grow kills the emulator.
_NEEDED = 2 << 30
#: Changes when what is frozen, or how, changes otherwise than by the emulator's arguments.
_FORMAT = 1
_MIGRATION_SECONDS = 120.0
_TRIES = 3
#: Asked for cold boots by ``--cold``.
COLD_VARIABLE = "SHIMOS_COLD"


class NoRoom(RuntimeError):
    """The disk is full; the text says what to do."""


class Unfit(RuntimeError):
    """This machine cannot be frozen; the text says why.  It boots cold instead."""


@dataclass(frozen=True)
class Setup:
    """What a machine does before it is frozen."""

    #: All that its outcome depends on, beside the machine.
    key: str
    run: Callable[[Running], None]


def key(config: Config, setup: Setup) -> str:
    """Return the name of the template of a machine that has done ``setup``: all that the frozen state depends on."""
    # The emulated time stamp counter is this computer's own, which begins anew with its boot.
    version = run(config.arch.emulator, "--version").splitlines()[0]
    # A late disk's content is not part of it, but its size is.
    disks = [replace(disk, content=_size(disk)) if disk.late else disk for disk in config.disks]
    contents = [_identity(disk) for disk in disks]
    words = replace(config, disks=disks).arguments(Place("clone", Path("/directory"), Path("/ground")))
    return cache.digest(str(_FORMAT), version, accelerator.computer_boot(), setup.key, *contents, *words)


def _identity(disk: Disk) -> str:
    """Return what tells a disk's content from that of another one, which may have been made anew by the same name.

    A file system's superblock has an id and the time when it was made.
    """
    if not isinstance(disk.content, Path):
        return str(disk.content)
    with disk.content.open("rb") as file:
        return cache.digest(str(disk.content), file.read(4096))


def _size(disk: Disk) -> str:
    return str(os.stat(disk.content).st_size) if isinstance(disk.content, Path) else str(disk.content)


def clone(config: Config, setup: Setup, directory: Path, name: str) -> Running:
    """Start a clone of the template of this machine, which is made if it is missing.

    ``directory`` is for what the clone writes, ``name`` for the ledger.  Raises Unfit where there
    can be no template.
    """
    if os.environ.get(COLD_VARIABLE):
        raise Unfit("cold boots were asked for")
    if config.accel in _COLD_ACCELERATORS:
        raise Unfit(f"machines of {config.accel} are not frozen")
    ground = TEMPLATES / key(config, setup)
    TEMPLATES.mkdir(exist_ok=True)
    with _in_use(ground, lambda: _make(config, setup, ground, name)):
        refusal = ground / "refused"
        if refusal.exists():
            raise Unfit(refusal.read_text())
        began = time.monotonic()
        shutil.copyfile(ground / "ttyS0.log", directory / "ttyS0.log")
        running = boot.start(config, Place("clone", directory, ground))
        try:
            _thaw(running)
        except BaseException as error:
            with suppress(OSError):
                running.stop()
            if not isinstance(error, QMPError | OSError | EOFError | boot.BootError):
                raise
            text = running.emulator.errors()
            raise boot.BootError(f"a clone of {ground.name} did not start: {error}\n{text}") from error
        os.utime(ground)
        running.seconds = time.monotonic() - began
    ledger.note(ledger.Entry("clone", name, running.seconds))
    return running


@contextmanager
def _in_use(ground: Path, make: Callable[[], None]) -> Iterator[None]:
    """Have the template, made by one process while others wait, and keep it from being removed."""
    with (ground.parent / f"{ground.name}.lock").open("w") as lock:
        while True:
            fcntl.flock(lock, fcntl.LOCK_SH)
            if ground.exists():
                break
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not ground.exists():
                make()
        yield


def _make(config: Config, setup: Setup, ground: Path, name: str) -> None:
    """Boot a machine and freeze it; under a name of its own until it is complete."""
    _make_room()
    new = ground.with_name(f"{ground.name}.new")

    def place() -> Place:
        cache.remove(new)
        new.mkdir()
        return Place("template", new, new)

    began = time.monotonic()
    with progress.step(f"booting a template of {name}"):
        try:
            _boot_and_freeze(config, place, setup, name)
        except Unfit as unfit:
            cache.remove(new)
            new.mkdir()
            (new / "refused").write_text(str(unfit))
    new.rename(ground)
    ledger.note(ledger.Entry("template", name, time.monotonic() - began))


def _boot_and_freeze(config: Config, place: Callable[[], Place], setup: Setup, name: str) -> None:
    for attempt in range(1, _TRIES + 1):
        running = boot.boot(config, place, f"template of {name}")
        try:
            # Every clone would inherit it.
            fault = _settle(running, setup)
            if not fault:
                _freeze(running)
                return
        finally:
            running.stop()
        faults.record(fault, f"template of {name}")
        if attempt == _TRIES:
            raise boot.BootError(f"a template's machine had a fault of the emulator {_TRIES} times: {fault}")


def _settle(running: Running, setup: Setup) -> str | None:
    """Run what belongs into the template; returns the emulator's fault that its machine has."""
    shell = running.consoles.first()
    try:
        setup.run(running)
        log = shell.run("dmesg | cat").output
    except ShellError as error:
        if fault := running.diagnosis.fault():
            return fault
        raise boot.BootError(f"a template's machine does not answer: {error}") from None
    if fault := running.diagnosis.fault():
        return fault
    if bad := faults.unclean(log):
        raise Unfit(f"its kernel log is not clean: {bad[0]}")
    return None


def _freeze(running: Running) -> None:
    qmp = running.emulator.qmp
    qmp("stop")
    try:
        _migrate(running, "migrate")
    except (QMPError, OSError, EOFError, boot.BootError) as error:
        raise Unfit(f"the emulator cannot freeze it: {error}") from None
    with suppress(QMPError, OSError, EOFError):  # it may end before it has answered
        qmp("quit")
    # The layers are complete when it has ended.
    if status := running.emulator.wait(60):
        raise Unfit(f"the emulator ended with status {status}: {running.emulator.errors()}")


def _thaw(running: Running) -> None:
    _migrate(running, "migrate-incoming")
    running.emulator.qmp("cont")


def _migrate(running: Running, command: str) -> None:
    """Write the machine's state beside its memory, which stays where it is, or read it from there; waits for the end."""
    qmp = running.emulator.qmp
    qmp("migrate-set-capabilities", capabilities=[{"capability": "x-ignore-shared", "state": True}])
    qmp(command, uri=f"file:{running.emulator.place.ground / 'state'}")
    deadline = time.monotonic() + _MIGRATION_SECONDS
    while (info := qmp("query-migrate")).get("status") != "completed":
        if info.get("status") == "failed" or time.monotonic() > deadline:
            raise boot.BootError(info.get("error-desc", str(info)))
        time.sleep(0.005)


def _make_room() -> None:
    """Remove templates that were not used for longest, until one more fits."""
    for torn in TEMPLATES.glob("*.new"):
        _remove(torn.with_suffix(""), torn)
    templates = sorted((p for p in TEMPLATES.iterdir() if p.is_dir()), key=lambda p: p.stat().st_mtime)
    sizes = {path: _blocks(path) for path in templates}
    while templates and (
        sum(sizes.values()) > ROOM - _NEEDED or shutil.disk_usage(TEMPLATES).free < _NEEDED + _LEFT_FREE
    ):
        oldest = templates.pop(0)
        _remove(oldest, oldest)
        del sizes[oldest]
    free = shutil.disk_usage(TEMPLATES).free
    if free < _NEEDED:
        raise NoRoom(
            f"lab: the cache's disk has {free >> 20} MiB free, and a machine's template takes up to {_NEEDED >> 20}:"
            " free some space, or choose another cache with SHIMOS_CACHE"
        )


def _remove(ground: Path, path: Path) -> None:
    """Remove a template or what is left of one, unless somebody starts from it or makes it just now."""
    with (ground.parent / f"{ground.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        with suppress(FileNotFoundError):
            cache.remove(path)


def _blocks(directory: Path) -> int:
    return sum(file.stat().st_blocks * 512 for file in directory.iterdir())
