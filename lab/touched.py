"""Which tests a change can have broken: a map from places in the tree to tests.

The first place that fits a file counts.  What the map does not know may have broken everything.
"""

from __future__ import annotations

from fnmatch import fnmatch

from lab.command import CommandError, run
from lab.paths import SRC

_SYSTEM = "tests/system"


def _system(*names: str) -> tuple[str, ...]:
    return tuple(f"{_SYSTEM}/test_{name}.py" for name in names)


#: Everything there is.
ALL = None
_NOTHING: tuple[str, ...] = ()
_PYTHON = ("tests/python",)
_KML = _system("kml", "kml_gate", "kml_programs", "kml_rights", "kml_speed", "kml_stress", "trust")
_IKC = _system("ikc", "ikc_death", "ikc_user")
_DISKS = _system("disks", "disk_faults", "disk_power", "disk_root")
_NETS = _system("networks", "network_faults")
_DEVICES = (*_DISKS, *_NETS, *_system("owner", "device_hostile", "device_unwanted"))
_RT = _system(
    "layer",
    "layer_protect",
    "rt",
    "rt_hosts",
    "rt_ikc",
    "rt_monitor",
    "rt_moves",
    "rt_partitions",
    "rt_policy",
    "rt_protected",
    "rt_vectors",
    "rt_visits",
    "visits",
)
_LIFE = (*_system("life", "guarded", "errors", "hostile", "ioctl", "kernels", "numa", "tool", "pci"), *_RT)

#: Patterns of files (* fits slashes as well) and the tests that depend on them.
MAP: tuple[tuple[str, tuple[str, ...] | None], ...] = (
    ("docs/realtime.md", _RT),
    ("docs/*", _NOTHING),
    ("*.md", _NOTHING),
    ("LICENSE", _NOTHING),
    (".gitignore", _NOTHING),
    ("kernel/kml/*", _KML),
    ("kernel/spumone/*", (*_RT, *_system("package"))),
    ("kernel/backend/*", _DEVICES),
    ("kernel/virtio/*", _DEVICES),
    ("kernel/kloader/passthrough*", _system("pci", "life")),
    ("kernel/kloader/guard/*", _system("guarded")),
    ("kernel/kloader/arch/x86/guard*", _system("guarded")),
    ("kernel/*", ALL),
    ("tool/src/kml/*", _KML),
    ("tool/src/devices/*", (*_DEVICES, *_system("tool"))),
    ("tool/src/commands/rt*", (*_RT, *_system("tool"))),
    ("tool/src/pci/*", _system("pci", "tool")),
    ("tool/src/ikc/*", (*_IKC, *_system("tool"))),
    ("tool/*", (*_LIFE, *_IKC, *_DEVICES, *_system("trust", "package", "service", "map"))),
    ("lib/rust-kml/*", (*_KML, *_system("package"))),
    ("lib/*", (*_IKC, *_system("package"))),
    ("packaging/*", _system("package")),
    ("examples/*", _NOTHING),  # the quick checks build them
    ("bench/*", _PYTHON),
    ("tests/python/*", _PYTHON),
    ("rt/*", _RT),
    ("tests/rt/*", _RT),
    ("tests/host/*", _NOTHING),  # all of it belongs to the quick checks
    (f"{_SYSTEM}/soak/*", _NOTHING),
    (f"{_SYSTEM}/debug/*", _NOTHING),
    ("lab/debug/*", _NOTHING),
    ("lab/demo*", _PYTHON),
    ("demo", _PYTHON),
    ("lab/stage/kml*", _KML),
    ("lab/stage/traffic.py", (*_IKC, *_system("life"))),
    ("lab/stage/disks.py", _DISKS),
    ("lab/stage/rt.py", (*_RT, *_PYTHON)),
    ("lab/stage/lan.py", (*_NETS, *_system("owner"))),
    ("lab/*", ALL),
    ("tests/support/*", ALL),
    ("tests/modules/*", ALL),
    ("tests/programs/*", ALL),
    ("tests/guest/*", ALL),
    (".ci/*", ALL),
    ("Makefile", ALL),
    ("pyproject.toml", ALL),
    ("test", ALL),
)


class NoRevision(RuntimeError):
    """Git does not know the revision; the text says so."""


def changed(revision: str) -> list[str]:
    """Return the files that differ from a revision, new ones included."""
    try:
        differ = run("git", "diff", "--name-only", revision, "--", cwd=SRC)
        new = run("git", "ls-files", "--others", "--exclude-standard", cwd=SRC)
    except CommandError as error:
        raise NoRevision(f"--touched: git does not know what has changed since {revision!r}:\n{error}") from None
    return sorted({*differ.splitlines(), *new.splitlines()})


def place(file: str) -> str | None:
    """Return the pattern of the map that a file belongs to, or None."""
    if file.startswith((f"{_SYSTEM}/test_", f"{_SYSTEM}/arm64/test_")):
        return file
    return next((pattern for pattern, _ in MAP if fnmatch(file, pattern)), None)


def tests(files: list[str]) -> list[str] | None:
    """Return the tests to run for these files, or None for all."""
    found: set[str] = set()
    for file in files:
        where = place(file)
        wanted = (file,) if where == file else dict(MAP).get(where or "", ALL)
        if wanted is ALL:
            return None
        found.update(wanted)
    return sorted(test for test in found if (SRC / test).exists())
