"""Bad input: a clear error, and nothing changed."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from lab.machine import LAB_INITRD, Machine
from lab.stage.partitions import MEMORY, PROGRAMS, Resources, refused, remove, run_command, show, start
from tests.support.tiers import REPETITION

#: What was measured last, by machine; nothing after a test that failed.
_measured: dict[Machine, Resources] = {}


@pytest.fixture(autouse=True)
def nothing_changes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Check that whatever was refused left CPUs and log as they were, and memory after a function's last parameter.

    To count memory costs more than to refuse something: what one function's end has found is the next one's
    beginning.
    """
    if "machine" not in request.fixturenames:
        yield
        return
    machine: Machine = request.getfixturevalue("machine")
    before = _measured.pop(machine, None) or Resources(machine)
    yield
    machine.run("rm -rf /tmp/bad* /tmp/*.toml")  # /tmp is memory
    before.assert_nothing_taken()
    machine.assert_dmesg_clean()
    _measured[machine] = before.assert_back() if is_last_parameter(request) else before


def is_last_parameter(request: pytest.FixtureRequest) -> bool:
    """Return whether the next test to run, if any, is another function."""
    same = [item for item in request.session.items if getattr(item, "function", None) is request.function]
    return same[-1] is request.node


def test_not_root(machine: Machine) -> None:
    command = run_command(machine)
    refused(machine, f"setpriv --reuid 65534 --clear-groups --inh-caps=-all --bounding-set=-all {command}", "root")


#: By list of CPUs, what the refusal must say.
WRONG_CPUS = {
    "9": ("CPU 9", "does not exist"),
    "0": ("CPU 0",),
    "0-3": ("CPU 0",),
    "2,2": ("2", "twice"),
    "3-2": ("3-2",),
    "x": ("x",),
    "": (),
    "2-99999999999": (),
}


@pytest.mark.parametrize(("cpus", "words"), WRONG_CPUS.items(), ids=WRONG_CPUS)
def test_cpus(machine: Machine, cpus: str, words: tuple[str, ...]) -> None:
    refused(machine, run_command(machine, cpus=f"'{cpus}'"), *words)


def test_offline_cpu(machine: Machine) -> None:
    machine.run("echo 0 >/sys/devices/system/cpu/cpu3/online")
    refused(machine, run_command(machine, cpus="3"), "CPU 3", "offline")
    machine.run("echo 1 >/sys/devices/system/cpu/cpu3/online")


def test_cpu_that_stays(machine: Machine) -> None:
    """One that Linux never takes offline, as where a Trusted OS resides; the one before it comes back."""
    machine.run(f"insmod {PROGRAMS}/{machine.versions[machine.flavour]}/shimos_kept_cpu.ko cpu=3")
    refused(machine, run_command(machine, cpus="2-3"), "CPU 3", "does not let it go offline", "take another one")
    assert machine.online_cpus() == [0, 1, 2, 3]
    machine.run("rmmod shimos_kept_cpu")


def test_taken_cpu_and_name(machine: Machine) -> None:
    start(machine, "one", cpus="2")
    refused(machine, run_command(machine, "two", cpus="2-3"), "CPU 2", "partition")
    refused(machine, run_command(machine, "one", cpus="3"), "one", "exists")
    assert machine.online_cpus() == [0, 1, 3]
    remove(machine, "one")


@pytest.mark.parametrize("name", ["", "a/b", "-x", "a b", "x" * 40, "ä", ".."])
def test_names(machine: Machine, name: str) -> None:
    refused(machine, run_command(machine, f"'{name}'"))


def test_the_hosts_name(machine: Machine) -> None:
    """The tool refuses it, and KLoader refuses it from any other program."""
    refused(machine, run_command(machine, "host"), "cannot be called 'host'", status=2)
    ask = f"{PROGRAMS}/create_named.py"
    assert "cannot be called 'host'" in machine.run(f"{ask} host").output
    assert "called" not in machine.run(f"{ask} hosts").output, "the name was not what it refused"


#: By size, what the refusal must say.
WRONG_MEMORY = {
    "1M": ("little",),
    "64M": ("need",),
    "100G": ("available",),
    "0": (),
    "1X": ("1X",),
    "-1G": (),
    "99999999999999G": (),
    "513M": (),
}


@pytest.mark.parametrize(("memory", "words"), WRONG_MEMORY.items(), ids=WRONG_MEMORY)
def test_memory(machine: Machine, memory: str, words: tuple[str, ...]) -> None:
    result = machine.run(run_command(machine, memory=f"'{memory}'", packed=True), check=False, timeout=120)
    if memory == "513M" and result.status == 0:  # may be rounded, then it must say so
        assert show(machine)["memory"] % (2 << 20) == 0
        remove(machine)
        return
    assert result.status != 0, result.output
    for word in words:
        assert word in result.output, result.output


def make(machine: Machine, kind: str) -> str:
    """Make a bad kernel file; returns its path."""
    good = machine.vmlinuz("6.1")
    path = f"/tmp/bad-{kind}"
    poke = (
        "python3 -c \"import sys;d=bytearray(open(sys.argv[1],'rb').read());{};open(sys.argv[2],'wb').write(d)\" {} {}"
    )
    commands = {
        "text": f"echo 'no kernel at all' >{path}",
        "empty": f": >{path}",
        "truncated": f"head -c 3000000 {good} >{path}",
        "header": f"head -c 700 {good} >{path}",
        "32bit": poke.format("d[0x236]&=0xfe", good, path),
        "elf32": poke.format("d[:]=b'\\x7fELF\\x01\\x01\\x01'+bytes(9)+b'\\x02\\0\\x03\\0'+bytes(100)", good, path),
        "elfarm": poke.format("d[:]=b'\\x7fELF\\x02\\x01\\x01'+bytes(9)+b'\\x02\\0\\xb7\\0'+bytes(100)", good, path),
        "arm64": poke.format("d[:]=bytes(0x38)+b'ARM\\x64'+bytes(4000)", good, path),
        "directory": f"mkdir -p {path}",
        "missing": f"rm -rf {path}",
    }
    machine.run(commands[kind])
    return path


#: By kind of file (see make), what the refusal must say.
WRONG_KERNELS = {
    "text": ("kernel",),
    "empty": ("empty",),
    "truncated": ("truncated",),
    "header": (),
    "32bit": ("32-bit",),
    "elf32": ("32-bit",),
    "elfarm": ("arm64",),
    "arm64": ("arm64",),
    "directory": (),
    "missing": ("No such file",),
}


@pytest.mark.parametrize(("kind", "words"), WRONG_KERNELS.items(), ids=WRONG_KERNELS)
def test_kernel_files(machine: Machine, kind: str, words: tuple[str, ...]) -> None:
    path = make(machine, kind)
    refused(machine, run_command(machine, more=f"--kernel {path}"), *words)


def test_initrd_missing(machine: Machine) -> None:
    refused(machine, run_command(machine, more="--initrd /nowhere"), "/nowhere")


def test_no_modules(machine: Machine) -> None:
    """A kernel that ours were not built for: how to build them is said."""
    version = machine.versions["6.1"]
    command = run_command(machine)
    refused(machine, f"SHIMOS_MODULES=/tmp/none {command}", version, "dkms")


@pytest.mark.parametrize(
    "cmdline", ["panic=5", "reboot=t", "pci=on", "mem=100M", "no_ipi_broadcast=0", "maxcpus=1", "noapic", "quiet -- x"]
)
def test_command_lines(machine: Machine, cmdline: str) -> None:
    word = "--" if "--" in cmdline else cmdline.split("=")[0]
    refused(machine, run_command(machine, more=f"--cmdline '{cmdline}'"), word)


def test_long_command_line(machine: Machine) -> None:
    refused(machine, run_command(machine, more=f"--cmdline {'x' * 5000}"), "long")


@pytest.mark.parametrize("verb", ["show", "stop", "kill", "restart", "rm", "logs", "console", "dump -o /tmp/x"])
def test_unknown_partition(machine: Machine, verb: str) -> None:
    refused(machine, f"shimos {verb} nobody", "nobody")


def test_illegal_steps(machine: Machine) -> None:
    start(machine)
    refused(machine, "shimos rm web", "running", "stop", "--force")
    machine.run("shimos kill web")
    refused(machine, "shimos kill web", "stopped")
    assert "not running" in machine.run("shimos stop web").output  # what was wanted is so already
    remove(machine)


def test_configuration_file(machine: Machine) -> None:
    machine.put("/tmp/bad.toml", b'name="web"\ncpuset="2"\nmemory="512M"\ncolour="red"\n')
    refused(machine, "shimos run --file /tmp/bad.toml", "line 4", "no key 'colour'")
    machine.put("/tmp/bad.toml", b'cpus="2-3"\n')
    refused(machine, "shimos run web --file /tmp/bad.toml", "line 1", 'cpuset = "2-3"')
    machine.put("/tmp/bad.toml", b'[[disk]]\npaht="/dev/vdb"\n')
    refused(machine, "shimos run web --file /tmp/bad.toml", "line 2", "did you mean 'path'?")
    machine.put("/tmp/bad.toml", b'disks=["/dev/vdb"]\n')
    refused(machine, "shimos run web --file /tmp/bad.toml", "[[disk]] with path")
    machine.put("/tmp/broken.toml", b"name = \n")
    refused(machine, "shimos run --file /tmp/broken.toml", "broken.toml")
    good = f'name="web"\ncpuset="2"\nmemory="{MEMORY}"\nkernel="{machine.vmlinuz("6.1")}"\ninitrd="{LAB_INITRD}"\n'
    machine.put("/tmp/web.toml", f"{good}[[net]]\np2p=true\n".encode())
    machine.run("shimos run --file /tmp/web.toml", timeout=120)
    assert show(machine)["cpus"] == [2]
    assert json.loads(machine.run("shimos devices --json").output)["devices"][0]["name"] == "shm-web0"
    remove(machine)


@pytest.mark.parametrize(
    "delay",
    [pytest.param(delay, marks=() if delay in (0.4, 1.6) else REPETITION) for delay in (0.1, 0.4, 0.8, 1.2, 1.6, 2.0)],
)
def test_interrupted_run(machine: Machine, delay: float) -> None:
    """Ctrl-C at some moment of `run`: undone, status 130, or it was done already."""
    result = machine.run(
        f"timeout --foreground -s INT {delay} {run_command(machine)}; echo status=$?", check=False, timeout=60
    )
    status = int(result.output.rsplit("status=", 1)[1])
    if status == 0:
        remove(machine)
    else:
        # timeout reports 124 when it sent the signal
        assert status in (124, 130), result.output
    assert machine.run("shimos ls -q").output == ""


def interrupt(machine: Machine, command: str, busy: str) -> str:
    """Press Ctrl-C as soon as a condition of the shell shows the command at work; returns what it had said."""
    script = (
        # Shells have what they run in the background ignore it.
        f"env --default-signal=INT {command} </dev/null >/tmp/said 2>&1 & p=$!;"
        f" until {busy}; do [ -e /proc/$p/exe ] || exit 99; done; kill -INT $p; wait $p"
    )
    status = machine.run(script, check=False, timeout=90).status
    said = machine.run("cat /tmp/said; rm /tmp/said").output
    assert status == 130, f"'{command}' was not interrupted: it ended with status {status}\n{said}"
    return said


_STATE = "/sys/class/shimos/web/state"


def test_interrupted_start(machine: Machine) -> None:
    """Ctrl-C while `run` waits for the kernel: the partition is removed again, and nothing is left of it."""
    said = interrupt(machine, run_command(machine), f"grep -qsx starting {_STATE}")
    assert "'web' has been killed and removed again" in said
    assert machine.run("shimos ls -q").output == ""


@pytest.mark.parametrize(
    ("verb", "busy"),
    [
        ("console web", "grep -q 'Linux version' /tmp/said"),
        ("logs -F web", "grep -q 'Linux version' /tmp/said"),
        ("stop web", f"grep -qx stopping {_STATE}"),
        ("restart web", f"grep -qx starting {_STATE}"),
        ("dump web --force -o /tmp/core", "[ -s /tmp/.core.* ]"),
    ],
    ids=["console", "logs", "stop", "restart", "dump"],
)
def test_interrupted_commands(machine: Machine, verb: str, busy: str) -> None:
    """Ctrl-C in the middle of the others: the partition can go on being used."""
    start(machine, memory="256M")
    if verb.startswith("stop"):
        # Else it is off before anybody can press a key.
        machine.partition("web").run("echo /bin/true >/proc/sys/kernel/poweroff_cmd")
        machine.partition("web").close()
    interrupt(machine, f"shimos {verb}", busy)
    assert machine.run("ls -A /tmp | grep core", check=False).output == ""
    machine.run("shimos kill web", check=False)
    machine.run("shimos restart web", timeout=60)
    assert show(machine)["state"] == "running"
    remove(machine)


def test_no_ipi_broadcast_missing() -> None:
    """A host that may broadcast interrupts is told which file to edit and how."""
    with Machine(ipi_broadcast=True) as machine:
        words = ("no_ipi_broadcast=1", "/etc/default/grub", "update-grub")
        refused(machine, run_command(machine), *words)
        refused(machine, "shimos doctor", *words)
        assert machine.online_cpus() == [0, 1, 2, 3]
