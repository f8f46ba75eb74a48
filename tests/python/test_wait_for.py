"""The program that tests wait with: what they believe it waited for must be so."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab.command import run
from lab.paths import SRC


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build it as the lab does."""
    made = tmp_path_factory.mktemp("wait_for") / "wait_for"
    run("gcc", "-O2", "-Wall", "-Werror", "-o", made, SRC / "tests/programs/wait_for.c")
    return made


@contextmanager
def waiting(program: Path, *arguments: str | Path) -> Iterator[None]:
    """Start it, which must still wait when something happens inside, and end by itself after that."""
    with subprocess.Popen([program, "-t", "20", *arguments]) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)
        yield
        assert process.wait(10) == 0


def fails(program: Path, *arguments: str | Path) -> str:
    """Wait for what does not come; returns what it says."""
    begin = time.monotonic()
    result = subprocess.run([program, "-t", "0.3", *arguments], check=False, capture_output=True, text=True)
    assert result.returncode == 1 and time.monotonic() - begin >= 0.3
    return result.stdout


def test_files(program: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    assert str(file) in fails(program, "file", file)
    with waiting(program, "file", file):
        file.touch()
    fails(program, "no-file", file)
    with waiting(program, "no-file", file):
        file.unlink()


def test_text(program: Path, tmp_path: Path) -> None:
    """It may come to a file that was not there, in pieces, and after more than is kept."""
    log = tmp_path / "log"
    with waiting(program, "text", "the end", log):
        log.write_text("x" * (3 << 20) + "the e")
        time.sleep(0.1)
        with log.open("a") as more:
            more.write("nd")
    assert "last seen: xxx" in fails(program, "text", "The end", log)


def test_value(program: Path, tmp_path: Path) -> None:
    """Only the whole value counts, and each that is asked for does."""
    attribute = tmp_path / "state"
    attribute.write_text("stopped\n")
    run(program, "value", "crashed|stopped", attribute)
    assert "last seen: stopped" in fails(program, "value", "stop|stopped2|topped", attribute)
    with waiting(program, "value", "running", attribute):
        attribute.write_text("running\n")
    assert subprocess.run([program, "value", "x", tmp_path / "none"], check=False, stderr=subprocess.DEVNULL).returncode


def test_exit(program: Path) -> None:
    """Several processes, of which one has gone already; a zombie is not gone."""
    gone = subprocess.Popen(["true"])
    gone.wait()
    run(program, "exit", str(gone.pid))
    sleeper = subprocess.Popen(["sleep", "60"])
    with waiting(program, "exit", str(gone.pid), str(sleeper.pid)):
        sleeper.kill()
        time.sleep(0.1)
        sleeper.wait()
    with subprocess.Popen(["true"]) as zombie:
        time.sleep(0.2)
        fails(program, "exit", str(zombie.pid))


def test_wrong_usage(program: Path) -> None:
    for arguments in ((), ("file",), ("text", "word"), ("nonsense", "x")):
        assert subprocess.run([program, *arguments], check=False, stderr=subprocess.DEVNULL).returncode == 2
