"""`make deb`: the packages are whole, and DKMS builds the modules from them."""

from __future__ import annotations

import re
from pathlib import Path

from lab import build, kernels
from lab.command import run
from tests.support.tiers import everything, late

pytestmark = late("what is packed other tests try")

#: What an installed machine must have.
IN_TOOL = (
    *(
        "/usr/bin/shimos",
        "/usr/bin/shimos-oci",
        "50-shimos.conf",
        "/usr/lib/shimos/init",
        "shimos@.service",
        "shimos-execd.service",
        "shimos-pool.service",
    ),
    *(
        "man1/shimos.1.gz",
        "man1/shimos-oci.1.gz",
        "man1/shimos-run.1.gz",
        "man1/shimos-trust-run.1.gz",
        "man5/shimos.toml.5.gz",
    ),
    *("bash-completion/completions/shimos", "vendor-completions/_shimos", "vendor_completions.d/shimos.fish"),
)
HEADERS = (
    *("ikc.h", "ring.h", "atomics.h", "kml.h", "shimos_kml.h"),
    *("shimos_ikc.h", "shimos_ikc_area.h", "shimos_ikc_bell.h", "shimos_ikc_chunk.h", "shimos_ikc_device.h"),
    *("shimos_ikc_echo.h", "shimos_ikc_limits.h", "shimos_ikc_packet.h", "shimos_ikc_ring.h"),
)
MODULES = {f"shimos_{name}" for name in ("ikc", "kloader", "agent", "virtio", "backend", "kml", "spumone")}


def test_man_pages(tmp_path: Path) -> None:
    """There is one for each command and one for partition files, and man has nothing to say against any."""
    run(build.tool(), "man", tmp_path)
    pages = sorted(tmp_path.iterdir())
    assert {"shimos.1", "shimos-run.1", "shimos-rt-latency.1", "shimos.toml.5"} <= {page.name for page in pages}
    for page in pages:
        # As lintian asks man-db; the formatted page is thrown away, and the complaints are kept.
        quiet = ("sh", "-c", 'MANROFFSEQ="" man --warnings -E UTF-8 -l -Tutf8 -Z "$1" 2>&1 >/dev/null', "man")
        assert run(*quiet, page) == "", page.name
    text = run("man", "-E", "UTF-8", "-P", "cat", "-l", tmp_path / "shimos.toml.5")
    for words in ("cpuset", "[[disk]] path", "option of shimos run: --memory", "SEE ALSO"):
        assert words in text, text


def test_packages(tmp_path: Path) -> None:
    # As the lab has built it, or, which takes minutes, as it is given away.
    made = build.packages(tmp_path / "build", f"PROFILE={'release' if everything() else 'lab'}")
    (tool,) = made.glob("shimos_*.deb")
    (modules,) = made.glob("shimos-dkms_*.deb")
    # The tool is static, and whose modules come otherwise needs no compiler.
    assert run("dpkg-deb", "--field", tool, "Depends").strip() == ""
    assert "dkms" in run("dpkg-deb", "--field", modules, "Depends")
    listing = run("dpkg", "-c", tool)
    for wanted in IN_TOOL:
        assert wanted in listing, listing

    # A program that uses /dev/ikc finds all it needs.
    run("dpkg", "-x", tool, tmp_path)
    include = tmp_path / "usr" / "include"
    assert {path.name for path in (include / "shimos").iterdir()} == set(HEADERS)
    program = tmp_path / "program.c"
    program.write_text('#include <shimos/ikc.h>\nint main(void) { return ikc_find_kernel("web") < 0; }\n')
    run("gcc", "-Wall", "-Wextra", "-Werror", f"-I{include}", "-o", tmp_path / "program", program)
    # One that may run in kernel mode works without, too.
    program.write_text("#include <shimos/kml.h>\nint main(void) { kml_init(); return kml_syscall0(39) != getpid(); }\n")
    run("gcc", "-Wall", "-Wextra", "-Werror", f"-I{include}", "-o", tmp_path / "program", program)
    run(tmp_path / "program")

    run("dpkg", "-x", modules, tmp_path)
    (tmp_path / "dkms").mkdir()
    version = re.search(r"shimos-dkms_([^_]+)_", modules.name)
    assert version
    trees = ("--sourcetree", f"{tmp_path}/usr/src", "--dkmstree", f"{tmp_path}/dkms", "-m", "shimos", "-v", version[1])
    run("dkms", "add", *trees)
    for kernel in kernels.get("6.1", "6.12") if everything() else kernels.get("6.12"):
        run("dkms", "build", *trees, "-k", kernel.version)
        built = (tmp_path / "dkms" / "shimos" / version[1] / kernel.version).rglob("*.ko*")
        assert {path.name.split(".")[0] for path in built} == MODULES
