"""The map of the machine: `shimos show`, `top` and `web`."""

from __future__ import annotations

import base64
import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from lab.devices import Nic
from lab.machine import Machine
from lab.stage.partitions import MEMORY_MIB, PROGRAMS, remove, scratch_disk, start
from tests.support.tiers import late

pytestmark = late("pictures of what the tool's other tests read")

WAIT = f"{PROGRAMS}/wait_for"
#: Colours of a terminal, but not bold or reversed letters.
COLOUR = re.compile(r"\x1b\[(?:[0-9;]*;)?(?:3[0-7]|38;5;\d+)[;m]")


@pytest.fixture
def busy(machine: Machine) -> Iterator[Machine]:
    """Yield a machine with a partition."""
    start(machine)
    yield machine
    remove(machine)


def owners(found: dict[str, Any]) -> dict[int, str | None]:
    """Return whose the CPUs are, by their numbers."""
    cores = [core for node in found["nodes"] for core in node["cores"]]
    return {cpu["number"]: cpu["kernel"] for core in cores for cpu in core}


def test_show(busy: Machine) -> None:
    """Whose each CPU is, also of those that are offline here; and as text for a file."""
    with scratch_disk(busy) as disk:
        busy.run(f"shimos attach web --disk {disk}")
        found = json.loads(busy.run("shimos show --json").output)
        text = busy.run("shimos show | cat").output
        busy.run(f"shimos detach web --force --disk {disk}")
    assert found["format"] == 2
    assert owners(found) == {0: "host", 1: "host", 2: "web", 3: "web"}
    kernels = {kernel["name"]: kernel for kernel in found["kernels"]}
    assert kernels["web"]["memory"] == MEMORY_MIB << 20
    assert 0 <= kernels["host"]["load"] <= 100
    assert [(it["type"], it["name"], it["user"]) for it in found["devices"]] == [("disk", disk, "web")]
    assert text.isascii() and "\x1b" not in text
    assert re.search(r"^CPUs +\[h0.\] \[h1.\] \[w2.\] \[w3.\]$", text, re.MULTILINE), text
    assert re.search(rf"^disk +{disk} +-> web ", text, re.MULTILINE), text


@dataclass(frozen=True)
class Terminal:
    """What one is like, and what it gets."""

    settings: str
    size: str
    colours: bool
    blocks: bool
    draws: bool


TERMINALS = (
    Terminal("TERM=xterm-256color LANG=C.UTF-8", "rows 50 cols 200", colours=True, blocks=True, draws=True),
    Terminal("TERM=xterm NO_COLOR=1 LANG=C.UTF-8", "rows 24 cols 80", colours=False, blocks=True, draws=True),
    # A serial line: nobody knows its size.
    Terminal("TERM=vt220 LANG=C", "rows 0 cols 0", colours=False, blocks=False, draws=True),
    Terminal("TERM=dumb LANG=C.UTF-8", "rows 24 cols 80", colours=False, blocks=False, draws=False),
)


def screen(machine: Machine, terminal: Terminal) -> str:
    """Return all that `shimos top` writes to such a terminal in two seconds."""
    top = f"env -u LC_ALL {terminal.settings} timeout --foreground -s INT 2 shimos top -i 0.5"
    machine.run(f"script -qc 'stty {terminal.size}; {top}' /tmp/screen >/dev/null </dev/null")
    text = base64.b64decode(machine.run("base64 -w 0 /tmp/screen").output).decode()
    return text.partition("\n")[2].partition("\nScript done")[0]


def test_top(busy: Machine) -> None:
    """A terminal gets what it can show; whoever reads a pipe gets one table."""
    for terminal in TERMINALS:
        text = screen(busy, terminal)
        assert "w2" in text and "memory" in text and "NAME" in text, terminal
        assert ("\x1b[?1049h" in text) == terminal.draws, terminal
        assert bool(COLOUR.search(text)) == terminal.colours, terminal
        assert any(block in text for block in "▁▂▃▄▅▆▇█") == terminal.blocks, terminal
        assert terminal.blocks or text.isascii(), terminal
        if not terminal.draws:
            assert "\x1b" not in text
            assert re.search(r"CPUs +\[h0.\] \[h1.\] \[w2.\] \[w3.\]", text), text
    lines = busy.run("shimos top -i 0.2 </dev/null | cat").lines
    assert lines[0].split()[:3] == ["NAME", "STATE", "CPUS"]
    assert [line.split()[0] for line in lines[1:]] == ["web"]


def test_web(busy: Machine) -> None:
    """The page and its map, for who asks by address; nothing else; until a signal."""
    shell = "sh -c 'shimos web --port 0 >/tmp/url; echo $? >/tmp/ended'"
    busy.run(f"rm -f /tmp/url /tmp/ended; setsid {shell} </dev/null >/dev/null 2>&1 & {WAIT} -t 20 text http /tmp/url")
    url = busy.run("cat /tmp/url").output.strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", url)
    page = busy.run(f"curl -sS -i {url}").output
    assert page.startswith("HTTP/1.1 200") and "<title>SHIMOS</title>" in page
    found = json.loads(busy.run(f"curl -sS {url}machine.json").output)
    assert owners(found)[2] == "web"
    code = "curl -sS -o /dev/null -w '%{http_code}'"
    assert busy.run(f"{code} {url}etc/passwd").output == "404"
    assert busy.run(f"{code} -X POST {url}").output == "405"
    assert busy.run(f"{code} -H 'Host: example.org' {url}machine.json").output == "403"
    said = busy.run(f"shimos web --port {url.rsplit(':')[-1].strip('/')}", check=False)
    assert said.status == 1 and "cannot listen at 127.0.0.1:" in said.output and "--port 0" in said.output
    busy.run(f"pkill -TERM -x shimos && {WAIT} -t 20 file /tmp/ended")
    assert busy.run("cat /tmp/ended").output.strip() == "143"


#: Of the first partition's tiles, in web/page.html.
OWN = (0x12, 0x79, 0xB8)


@pytest.mark.machine(nics=[Nic()])
def test_in_a_browser(fresh_machine: Machine, tmp_path: Path) -> None:
    """A browser draws the map that the page asks for: whose the CPUs are, and the partition's row."""
    machine = fresh_machine
    start(machine)
    machine.run("shimos web --bind 0.0.0.0 --port 8080 </dev/null >/dev/null 2>&1 &")
    machine.run("until curl -sS -o /dev/null http://127.0.0.1:8080/; do sleep 0.1; done")
    picture = tmp_path / "web.png"
    browser = ["chromium-headless-shell", "--no-sandbox", f"--user-data-dir={tmp_path}", "--window-size=1000,800"]
    # time goes on while nothing is fetched, so the map has come by then
    browser += ["--virtual-time-budget=2500", f"--screenshot={picture}", "--dump-dom", machine.site(8080)]
    page = subprocess.run(browser, capture_output=True, text=True, timeout=120, check=True).stdout
    machine.run("pkill -TERM -x shimos")
    assert '<span id="problem" role="status"></span>' in page, page
    assert re.findall(r"<b>(\d)</b><small>(\w+)</small>", page) == [
        *zip("0123", ("host", "host", "web", "web"), strict=True)
    ]
    assert re.search(rf"web</span></td><td>running</td><td>2, 3</td><td>{MEMORY_MIB} MiB</td>", page), page
    with Image.open(picture) as image:
        pixels = image.convert("RGB").getcolors(1 << 24)
    # it has a line under each tile, and a part of the memory
    assert sum(count for count, colour in pixels if colour == OWN) > 1000
