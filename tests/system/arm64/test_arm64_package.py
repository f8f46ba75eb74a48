"""`make deb ARCH=arm64` on this computer: what is in the packages is for the other one."""

from __future__ import annotations

import re
from pathlib import Path

from lab import build, kernels
from lab.apt import development
from lab.arch import ARM64
from lab.command import run
from tests.support.tiers import everything, late

pytestmark = late("what tests of x86-64 say, on another architecture")

#: No programs in kernel mode and no layer there.
MODULES = {f"shimos_{name}" for name in ("ikc", "kloader", "agent", "virtio", "backend")}


def assert_static(program: Path) -> None:
    """Check that it runs on any arm64 computer, whatever libraries are there."""
    text = run("readelf", "--file-header", "--program-headers", "--wide", program)
    assert re.search(r"Machine: +AArch64", text), text
    assert "INTERP" not in text, text


def test_packages(tmp_path: Path) -> None:
    development(ARM64)
    # Of a release there is nothing here that test_package.py does not see; the lab has built its own of both.
    made = build.packages(tmp_path / "build", "ARCH=arm64", "PROFILE=lab")
    (tool,) = made.glob("shimos_*_arm64.deb")
    (modules,) = made.glob("shimos-dkms_*_all.deb")
    assert run("dpkg-deb", "--field", tool, "Architecture").strip() == "arm64"
    assert run("dpkg-deb", "--field", tool, "Depends").strip() == ""
    listing = run("dpkg-deb", "--contents", tool)
    for wanted in ("shimos@.service", "man1/shimos-run.1.gz", "completions/shimos", "include/shimos/ikc.h"):
        assert wanted in listing, listing
    for package in (tool, modules):
        run("dpkg-deb", "--extract", package, tmp_path)
    assert_static(tmp_path / "usr/bin/shimos")
    assert_static(tmp_path / "usr/lib/shimos/init")

    # The lab has built the same modules; DKMS builds them on x86-64 in each run.
    if not everything():
        return
    # What DKMS would do there, with a compiler that runs here.
    (tree,) = (tmp_path / "usr/src").glob("shimos-*")
    (tmp_path / "dkms").mkdir()
    trees = ("--sourcetree", tree.parent, "--dkmstree", tmp_path / "dkms", "-m", "shimos", "-v", tree.name[7:])
    run("dkms", "add", *trees)
    (kernel,) = kernels.get("6.12", arch=ARM64)
    headers = f"/usr/src/linux-headers-{kernel.version}"
    # Debian's strip knows its own architecture only.
    cross = {"ARCH": ARM64.name, "CROSS_COMPILE": f"{ARM64.triple}-", "STRIP": f"{ARM64.triple}-strip"}
    which = ("-k", kernel.version, "-a", "aarch64", "--kernelsourcedir", headers)
    run("dkms", "build", *trees, *which, env=cross)
    built = list((tmp_path / "dkms" / "shimos" / tree.name[7:] / kernel.version / "aarch64").rglob("*.ko*"))
    assert {path.name.split(".")[0] for path in built} == MODULES
