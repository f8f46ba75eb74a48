"""Which template fits, and how much room all may take.  No machine."""

from __future__ import annotations

import os
import shutil
from collections import namedtuple
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lab import accelerator, template
from lab.devices import Disk, Nic, PciDevice, Place
from lab.qemu import Config

MIB = 1 << 20


@pytest.fixture
def config(tmp_path: Path) -> Config:
    payload, image = tmp_path / "payload", tmp_path / "image"
    payload.write_bytes(bytes(4096))
    image.write_bytes(bytes(4096))
    disks = [Disk("system", image), Disk("payload", payload, late=True)]
    return Config(tmp_path / "vmlinuz", tmp_path / "initrd", "console=ttyS0", disks=disks)


def _setup(key: str = "nothing") -> template.Setup:
    return template.Setup(key, lambda _: None)


def test_all_that_the_frozen_state_depends_on_is_in_the_key(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.write_bytes(bytes(4096))
    larger = tmp_path / "larger"
    larger.write_bytes(bytes(8192))
    configs = [
        config,
        replace(config, kernel=other),
        replace(config, initrd=other),
        replace(config, cmdline="quiet"),
        replace(config, cpus=2),
        replace(config, memory="2G"),
        replace(config, accel="icount"),
        replace(config, extra=("-smp", "8")),
        replace(config, nics=[Nic()]),
        replace(config, pci=[PciDevice("nvme,serial=x", disk=1)]),
        replace(config, disks=[Disk("system", other), config.disks[1]]),
        replace(config, disks=[config.disks[0], Disk("payload", larger, late=True)]),
        replace(config, disks=[*config.disks, Disk("data", "1M")]),
        replace(config, disks=[*config.disks, Disk("data", "2M")]),
    ]
    keys = [template.key(c, _setup()) for c in configs]
    keys.append(template.key(config, _setup("cards")))
    monkeypatch.setattr(accelerator, "computer_boot", lambda: "another boot")
    keys.append(template.key(config, _setup()))
    monkeypatch.undo()
    monkeypatch.setattr(template, "run", lambda *_: "QEMU emulator version 99\n")
    keys.append(template.key(config, _setup()))
    assert len(set(keys)) == len(keys)


def test_the_code_under_test_is_not_in_the_key(config: Config, tmp_path: Path) -> None:
    """Another payload of the same size is what a template survives."""
    other = tmp_path / "other"
    other.write_bytes(b"x" * 4096)
    changed = replace(config, disks=[config.disks[0], Disk("payload", other, late=True)])
    assert template.key(changed, _setup()) == template.key(config, _setup())


def test_a_disk_that_was_made_anew_is_another(config: Config) -> None:
    """It has the same name and size, and a template has read the old one in part."""
    before = template.key(config, _setup())
    image = config.disks[0].content
    assert isinstance(image, Path)
    image.write_bytes(b"x" * 4096)
    assert template.key(config, _setup()) != before


@pytest.fixture
def templates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make three templates of 4 MiB, the oldest first, in a folder with room for 10."""
    monkeypatch.setattr(template, "TEMPLATES", tmp_path)
    monkeypatch.setattr(template, "ROOM", 10 * MIB)
    monkeypatch.setattr(template, "_NEEDED", 5 * MIB)
    monkeypatch.setattr(template, "_LEFT_FREE", 0)
    for age, name in enumerate(("new", "middle", "old")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "ram").write_bytes(os.urandom(4 * MIB))
        os.utime(tmp_path / name, (1e9 - age, 1e9 - age))
    (tmp_path / "torn.new").mkdir()
    return tmp_path


def test_the_longest_unused_templates_go_first(templates: Path) -> None:
    template._make_room()
    assert sorted(p.name for p in templates.iterdir() if p.is_dir()) == ["new"]


def test_a_template_that_somebody_starts_from_stays(templates: Path) -> None:
    with template._in_use(templates / "old", lambda: None):
        template._make_room()
        assert (templates / "old" / "ram").exists()
    assert not (templates / "middle").exists()


def test_room_is_left_for_everything_else(templates: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template, "ROOM", 100 * MIB)
    template._make_room()
    assert len([p for p in templates.iterdir() if p.is_dir()]) == 3
    usage = namedtuple("usage", "total used free")

    def usage_now(_: Path) -> tuple[int, ...]:
        kept = len([p for p in templates.iterdir() if p.is_dir()])
        return usage(100 * MIB, 0, (30 - 4 * kept) * MIB)

    monkeypatch.setattr(shutil, "disk_usage", usage_now)
    monkeypatch.setattr(template, "_LEFT_FREE", 18 * MIB)
    template._make_room()
    # 5 for the next one and 18 for others
    assert sorted(p.name for p in templates.iterdir() if p.is_dir()) == ["new"]


def test_a_full_disk_is_said_before_anything_is_made(templates: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(100 * MIB, 99 * MIB, MIB))
    with pytest.raises(template.NoRoom, match=r"1 MiB free.*up to 5.*SHIMOS_CACHE"):
        template._make_room()
    assert not [p for p in templates.iterdir() if p.is_dir()]


def test_what_cannot_be_frozen_is_not_tried_again(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(template, "TEMPLATES", tmp_path / "templates")
    tries = []

    def refuse(*_: object) -> None:
        tries.append(1)
        raise template.Unfit("its device is not migratable")

    monkeypatch.setattr(template, "_boot_and_freeze", refuse)
    for _ in range(2):
        with pytest.raises(template.Unfit, match="not migratable"):
            template.clone(config, _setup(), tmp_path, "host")
    assert len(tries) == 1


def test_a_failed_template_is_not_kept(config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template, "TEMPLATES", tmp_path / "templates")

    def fail(_: Config, place: Callable[[], Place], *__: object) -> None:
        place()
        raise RuntimeError("killed")

    monkeypatch.setattr(template, "_boot_and_freeze", fail)
    with pytest.raises(RuntimeError, match="killed"):
        template.clone(config, _setup(), tmp_path, "host")
    assert [p.suffix for p in (tmp_path / "templates").iterdir() if p.is_dir()] == [".new"]


@pytest.mark.parametrize("variable", ["1", ""])
def test_cold_is_cold(config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(template.COLD_VARIABLE, variable)
    monkeypatch.setattr(template, "TEMPLATES", tmp_path / "templates")
    monkeypatch.setattr(template, "_make", lambda *_: (_ for _ in ()).throw(WasAsked()))
    expected = template.Unfit if variable else WasAsked
    with pytest.raises(expected):
        template.clone(config, _setup(), tmp_path, "host")


class WasAsked(Exception):
    """A template was asked for."""


def test_kvm_boots_cold(config: Config, tmp_path: Path) -> None:
    with pytest.raises(template.Unfit, match="kvm"):
        template.clone(replace(config, accel="kvm"), _setup(), tmp_path, "host")
