"""Where the lab's kernels come from: suites that the tool root has and has not, and newer ones.  No machine, no network."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab import apt, kernels
from lab.apt import Apt
from lab.arch import AMD64, ARM64, DEFAULT, NATIVE

SOURCES = """\
deb http://mirror/debian trixie main

deb http://mirror/debian trixie-backports main
deb http://security/debian-security trixie-security main
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the folder in which all that is not the tool root's own is kept."""
    (tmp_path / "sources.list").write_text(SOURCES)
    monkeypatch.setattr(apt, "_SOURCES", tmp_path / "sources.list")
    monkeypatch.setattr(apt, "_FOREIGN", tmp_path)
    return tmp_path


@pytest.mark.usefixtures("root")
def test_a_suite_of_the_tool_root_keeps_its_line() -> None:
    assert apt.source("trixie-security") == "deb http://security/debian-security trixie-security main"
    assert apt.source("sid") == "deb [check-valid-until=no] http://mirror/debian sid main"


def test_nothing_of_another_suite_is_installed(root: Path) -> None:
    assert Apt(NATIVE, "trixie-backports").own
    assert not Apt(ARM64 if NATIVE is AMD64 else AMD64).own
    strange = Apt(NATIVE, "sid")
    assert not strange.own
    said = strange.run("apt-config", "dump")
    place = root / f"sid-{NATIVE.name}"
    for name, value in {"Etc::sourcelist": "sources.list", "State": "", "State::status": "status"}.items():
        assert f'Dir::{name} "{place / value}";' in said
    assert (place / "sources.list").read_text() == f"{apt.source('sid')}\n"
    assert (place / "status").read_text() == ""


def test_suites_do_not_share_what_apt_knows() -> None:
    """The one with headers of 6.12 must not take them for unpacked because another has them."""
    assert len({Apt(arch, suite)._state for arch in (AMD64, ARM64) for suite in ("trixie", "sid", "etch")}) == 6


def test_only_older_kernels_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "_KERNELS", tmp_path)
    monkeypatch.setattr(kernels, "_resolve", lambda flavour, _: {"6.1": "6.1.2", "sid": "7.3"}[flavour])
    for flavour, version in {"6.1": "6.1.2", "sid": "7.2"}.items():
        (tmp_path / f"{flavour}{DEFAULT.suffix}").mkdir()
        (tmp_path / f"{flavour}{DEFAULT.suffix}" / "version").write_text(version)
    kernels.renew("6.1", "sid")
    assert [place.name for place in tmp_path.iterdir()] == [f"6.1{DEFAULT.suffix}"]


def test_a_kernel_that_is_not_there_yet_is_no_older_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "_KERNELS", tmp_path)
    kernels.renew("6.1")


def test_each_kernel_is_built_with_its_own_compiler() -> None:
    built = {name: kernels.Kernel(name, "1", Path("/nowhere")).builder for name in kernels.FLAVOURS}
    assert [name for name, builder in built.items() if builder] == ["sid"]
