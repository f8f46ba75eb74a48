"""What the tool shows: lists, logs, consoles, dumps, the doctor."""

from __future__ import annotations

import json

import pytest

from lab.machine import LAB_INITRD, Machine
from lab.stage.partitions import (
    MEMORY,
    MEMORY_MIB,
    initrd_with,
    refused,
    remove,
    run_command,
    show,
    start,
    wait_state,
    wait_value,
)
from tests.support.tiers import REPETITION, rare


def test_lists(machine: Machine) -> None:
    assert json.loads(machine.run("shimos ls --json").output)["partitions"] == []
    start(machine, cpus="2-3")
    found = json.loads(machine.run("shimos ls --json").output)
    assert found["format"] == 2
    listed = found["partitions"]
    assert [(p["name"], p["state"], p["cpus"]) for p in listed] == [("web", "running", [2, 3])]
    assert listed[0]["kernel_version"] == machine.versions["6.1"]
    table = machine.run("shimos ls").output
    assert "web" in table and "running" in table and "2-3" in table
    details = show(machine)
    assert details["memory"] == MEMORY_MIB << 20
    assert details["host_bytes"] < 2 << 20
    start(machine, "db", cpus="1")
    assert machine.run("shimos ls -q").lines == ["web", "db"]
    machine.run("shimos rm -f db")
    assert machine.run("shimos ls --quiet").lines == ["web"]
    sysfs = "/sys/class/shimos/web"
    assert machine.run(f"cat {sysfs}/state {sysfs}/cpus {sysfs}/memory").output.split() == [
        "running",
        "2,3",
        str(MEMORY_MIB << 20),
    ]
    remove(machine)


def settings(machine: Machine, name: str) -> None:
    """Write /etc/shimos/NAME.toml."""
    text = f'cpuset="2"\nmemory="{MEMORY}"\nkernel="{machine.vmlinuz("6.1")}"\ninitrd="{LAB_INITRD}"\n'
    machine.run("mkdir -p /etc/shimos")
    machine.put(f"/etc/shimos/{name}.toml", text.encode())


def test_start(machine: Machine) -> None:
    """From its file if there is none of that name, as it is if there is, and not twice."""
    refused(machine, "shimos start web", "no partition 'web'", "/etc/shimos/web.toml")
    settings(machine, "web")
    assert "web: running, Linux" in machine.run("shimos start web", timeout=120).output
    assert "web: runs already" in machine.run("shimos start web").output
    assert show(machine)["starts"] == 1
    machine.run("shimos stop -t 60 web", timeout=90)
    machine.run("rm /etc/shimos/web.toml")
    assert "web: running, Linux" in machine.run("shimos start web", timeout=120).output
    assert show(machine)["starts"] == 2
    remove(machine)


def test_completions(machine: Machine) -> None:
    """Bash offers the names that there are, to anybody."""
    start(machine)
    settings(machine, "db")
    ask = "setpriv --reuid 65534 /usr/lib/shimos-test/complete.bash shimos"

    def offered(words: str) -> list[str]:
        return machine.run(f"{ask} {words}").lines

    assert offered("stop ''")[0] == "web"
    assert offered("start ''")[:2] == ["db", "web"]
    assert offered("ping h") == ["host"]
    assert offered("rm --for") == ["--force"]
    machine.run("rm /etc/shimos/db.toml")
    remove(machine)
    assert "web" not in offered("stop ''")


#: What to type in a partition, and what `shimos wait` says of it then.
WAITS = {
    "poweroff": ("poweroff -f", 0, "web: stopped, it powered off"),
    "reboot": ("reboot -f", 3, "web: stopped, it rebooted"),
    "panic": ("echo c >/proc/sysrq-trigger", 4, "web: crashed, it panicked: "),
}


@pytest.mark.parametrize(("command", "code", "said"), WAITS.values(), ids=WAITS)
def test_wait(machine: Machine, command: str, code: int, said: str) -> None:
    """It ends when the partition does, and says how; afterwards it says the same at once."""
    start(machine)
    waiter = machine.shell(3)
    waiter.send(b"shimos wait web >/tmp/said; echo status=$?\n")
    assert "has not ended after" in machine.run("shimos wait -t 0.2 web", check=False).output
    assert machine.run("cat /tmp/said").output == ""
    console = machine.partition("web")
    console.send(f"{command}\n".encode())
    waiter.expect(f"status={code}".encode(), timeout=30)
    waiter.run("true")
    console.close()
    assert machine.run("cat /tmp/said").output.startswith(said)
    again = machine.run("shimos wait web", check=False)
    assert (again.status, again.output.startswith(said)) == (code, True)
    remove(machine)


def test_wait_for_one_that_starts_again(machine: Machine) -> None:
    """A reboot is not its end with --on-reboot restart."""
    start(machine, more="--on-reboot restart")
    waiter = machine.shell(3)
    waiter.send(b"shimos wait web; echo status=$?\n")
    console = machine.partition("web")
    console.send(b"reboot -f\n")
    wait_value(machine, "/sys/class/shimos/web/starts", "2")
    console.close()
    wait_state(machine, "web", "running")
    machine.run("shimos stop web", timeout=60)
    waiter.expect(b"it powered off", timeout=30)
    waiter.expect(b"status=0")
    waiter.run("true")
    remove(machine)


def test_doctor(machine: Machine) -> None:
    result = machine.run("shimos doctor --json")
    found = json.loads(result.output)
    assert found["format"] == 2 and found["checks"]
    assert "FAIL" not in machine.run("shimos doctor").output


@pytest.mark.parametrize("flavour", ["6.1", pytest.param("6.12", marks=REPETITION)])
def test_logs(machine: Machine, flavour: str) -> None:
    """The whole kernel log: as dmesg says inside; also after a kill."""
    start(machine, flavour=flavour)
    console = machine.partition("web")
    console.run("echo marker-of-the-test >/dev/kmsg")
    inside = console.run("dmesg").output
    console.close()
    outside = machine.run("shimos logs web", timeout=120).output
    assert "Linux version " + machine.versions[flavour] in outside
    assert "marker-of-the-test" in outside
    lines = [line.split("] ", 1)[-1].strip() for line in inside.splitlines() if "] " in line]
    missing = [line for line in lines if line and line not in outside]
    assert not missing, missing[:5]
    machine.run("shimos kill web")
    assert "marker-of-the-test" in machine.run("shimos logs web", timeout=120).output
    remove(machine)


def test_log_of_a_kernel_that_never_got_far(machine: Machine) -> None:
    """Without our init no agent loads: the log still tells what happened."""
    start_command = (
        f"shimos run web --cpuset 2 --memory 512M --kernel {machine.vmlinuz('6.1')} --initrd /boot/lab-initrd.img"
    )
    result = machine.run(f"{start_command} --no-agent --cmdline 'rdinit=/nowhere'", timeout=60)
    assert result.status == 0
    machine.run("until shimos logs web | grep -q 'Kernel panic'; do sleep 0.2; done", timeout=60)
    remove(machine)


def test_failed_start_says_why(machine: Machine) -> None:
    """The tool shows the end of the log when the partition does not come up, and removes it."""
    usual = start(machine).seconds
    remove(machine)
    # Our init cannot load the first module and ends: a panic before there is an agent to tell of it.
    command = run_command(machine, more=f"--cmdline module_blacklist=shimos_ikc --timeout {3 + 2 * usual:.0f}")
    said = refused(machine, command, "'web' is not up after", "removed again")
    _, _, log = said.partition("the end of the kernel log of 'web':")
    assert "Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000100" in log, f"no reason in: {said}"
    assert json.loads(machine.run("shimos ls --json").output)["partitions"] == []


#: Says what a kernel says whose timer the emulator has lost, and sleeps on like it.
NO_TIMER = b"""#!/bin/busybox sh
busybox mount -t devtmpfs dev /dev
echo 'APIC frequency too slow, disabling apic timer' >/dev/kmsg
exec busybox sleep 1000
"""


@rare("concerns an option that only the lab sets")
def test_only_the_lab_starts_a_kernel_without_timer_again(machine: Machine) -> None:
    """Anywhere else it is a failure, shown when it is seen."""
    usual = start(machine).seconds
    remove(machine)
    # Busybox in the place of our init does as its table says, and loads no agent.
    machine.put("/tmp/inittab", b"::sysinit:/no-timer\n")
    machine.put("/tmp/no-timer", NO_TIMER, 0o755)
    initrd = initrd_with(machine, "6.1", {"/etc/inittab": "/tmp/inittab", "/no-timer": "/tmp/no-timer"})
    command = run_command(machine, more=f"--initrd {initrd} --timeout {2 + usual:.0f}")
    for setting, repeated in [("-u SHIMOS_LAB_RESTARTS", 0), ("SHIMOS_LAB_RESTARTS=1", 1)]:
        # Into a file: what is said of it on a console counts as a fault of the emulator.
        line = f"env {setting} SHIMOS_INIT_BINARY=/usr/bin/busybox {command} 2>/tmp/said"
        assert machine.run(line, timeout=120, check=False).status == 1
        assert int(machine.run("grep -c 'started again' /tmp/said || :").output) == repeated
        said = machine.run("grep -v 'started again' /tmp/said").output
        assert "'web' will not come up: its kernel did not find its CPU's timer" in said
        assert "the end of the kernel log of 'web'" in said
        assert json.loads(machine.run("shimos ls --json").output)["partitions"] == []


def test_init_that_fails_after_the_start(machine: Machine) -> None:
    """The start was good; that the partition crashed later, and why, is there to be asked for."""
    # On a busy machine two seconds were over before the agent had said that the kernel is ready.
    machine.put("/tmp/late", b"#!/bin/busybox sh\n/bin/busybox sleep 10\nexit 3\n", 0o755)
    initrd = initrd_with(machine, "6.1", {"/late": "/tmp/late"})
    start(machine, more=f"--initrd {initrd} --cmdline rdinit=/late")
    wait_state(machine, "web", "crashed")
    assert "Attempted to kill init! exitcode=0x00000300" in machine.run("shimos logs web").output
    remove(machine)


def test_watchers(machine: Machine) -> None:
    """Two watchers see what a third types; each may leave."""
    start(machine)
    watchers = [machine.shell(n) for n in (3, 4)]
    for watcher in watchers:
        watcher.send(b"shimos console web --read-only\n")
    console = machine.partition("web")
    console.run("echo seen-by-$((40+2)) >/dev/console")
    for watcher in watchers:
        watcher.expect(b"seen-by-42", timeout=30)
        watcher.send(b"\x1d")
        watcher.expect(b"disconnected")
        watcher.run("true")
    console.close()
    remove(machine)


def test_long_input(machine: Machine) -> None:
    """More typed at once than the ring holds: nothing is lost."""
    start(machine)
    console = machine.partition("web")
    words = " ".join(str(n) for n in range(3000))
    count = console.run(
        f"cat >/tmp/long <<'END'\n{words[:3000]}\n{words[3000:6000]}\n{words[6000:9000]}\nEND\nwc -c </tmp/long"
    )
    assert int(count.output) == 9003
    console.close()
    remove(machine)


def test_dump_opens_in_drgn(machine: Machine) -> None:
    """A vmcore of a running and of a dead partition."""
    arch, elf_machine = {"amd64": ("X86_64", 62), "arm64": ("AARCH64", 183)}[machine.spec.arch]
    start(machine, memory="256M")
    machine.run("shimos dump web -o /tmp/live.vmcore", timeout=120)
    console = machine.partition("web")
    console.send(b"echo c >/proc/sysrq-trigger\n")
    wait_state(machine, "web", "crashed")
    console.close()
    machine.run("shimos dump web -o /tmp/dead.vmcore", timeout=120)
    # Without the kernel's debug symbols drgn still reads format and notes.
    program = (
        "import drgn,sys; p=drgn.Program(); p.set_core_dump(sys.argv[1]);"
        "print(p.platform.arch.name, p['VMCOREINFO'].string_().decode().split()[0])"
    )
    for name in ("live", "dead"):
        seen = machine.run(f'python3 -c "{program}" /tmp/{name}.vmcore', timeout=120).output
        assert f"{arch} OSRELEASE={machine.versions['6.1']}" in seen
        header = machine.run(
            f"python3 -c \"d=open('/tmp/{name}.vmcore','rb').read(64);print(d[:4],d[16],d[18])\""
        ).output
        assert "ELF" in header and f"4 {elf_machine}" in header
        machine.run(f"grep -a -q 'OSRELEASE={machine.versions['6.1']}' /tmp/{name}.vmcore")
    remove(machine)


@rare("which CPUs these are the unit tests show")
def test_threads_of_one_core_are_warned_about() -> None:
    """Half a core given away: a warning, not a refusal."""
    with Machine(extra=("-smp", "4,sockets=1,cores=2,threads=2")) as machine:
        siblings = machine.run("cat /sys/devices/system/cpu/cpu2/topology/thread_siblings_list").output.strip()
        assert siblings == "2-3"
        assert "CPUs 2-3 are threads of one core" in start(machine, cpus="2").output
        remove(machine)
        assert "threads of one core" not in start(machine, cpus="2-3").output
        remove(machine)
        refused(machine, run_command(machine, cpus=1), "cannot take 1 CPU", "whole cores", "--cpus 2")
        start(machine, flavour="6.12", cpus=2)
        assert show(machine)["cpus"] == [2, 3]
        inside = machine.partition("web").run("cat /sys/devices/system/cpu/cpu*/topology/thread_siblings_list").lines
        assert inside == ["0-1", "0-1"]
        machine.partition("web").close()
        refused(machine, run_command(machine, "db", cpus=2), "the host has none to spare")
        remove(machine)


def test_so_many_cpus(machine: Machine) -> None:
    """The host's free ones; not its first, not those of others."""
    refused(machine, "shimos run web --cpus 2-3 --memory 512M", "--cpuset 2-3", status=2)
    refused(machine, run_command(machine, cpus=4), "the host has 3 to spare, CPUs 1-3")
    start(machine, cpus=2)
    assert show(machine)["cpus"] == [2, 3]
    start(machine, "db", cpus=1)
    assert show(machine, "db")["cpus"] == [1]
    remove(machine, "web db")


def test_completions_and_manual(machine: Machine) -> None:
    for shell in ("bash", "zsh", "fish"):
        assert "shimos" in machine.run(f"shimos completions {shell}").output
    machine.run("rm -rf /tmp/man && mkdir /tmp/man && shimos man /tmp/man")
    assert "shimos.1" in machine.run("ls /tmp/man").output
