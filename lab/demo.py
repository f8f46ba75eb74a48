"""``./demo``: a second, unmodified kernel beside the first, step by step.

./demo                show it, check every step, exit 0 if all held
./demo --arch arm64   the same on another kind of machine; with --device-tree on one without ACPI
./demo --rt           the same of an RTOS and Linux on the same core
./demo --shell        a shell on the emulated machine, everything prepared
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from lab import demo_rt, progress, terminal
from lab.arch import ARCHES, DEFAULT, Arch
from lab.demo_steps import Steps
from lab.devices import Disk
from lab.machine import LAB_INITRD, Machine, parse_cpu_list
from lab.partition_root import partition_root
from lab.progress import say, step

_NAME = "web"
_CPUS = [2, 3]
_MEMORY = 1 << 30
#: What the host's own caches may have grown by while the partition lived.
_SLACK = 16 << 20
#: The bridge of the host and of the partition's network card.
_HOST, _PARTITION = "10.9.0.1", "10.9.0.2"
_BRIDGE = f"ip link add br0 type bridge && ip address add {_HOST}/24 dev br0 && ip link set br0 up"
_FILE = "/var/www/html/random"
#: Seconds for systemd in an emulated machine that has other work too.
_BOOT = 240.0


class Demo(Steps):
    """The steps, each of which prints what it did and checks what it saw."""

    def __init__(self, machine: Machine):
        super().__init__(machine)
        self._host_boot = machine.boot_id()
        self._cpus = machine.online_cpus()
        self._free = machine.mem_free()

    def type_inside(self, command: str) -> str:
        """Run a command in the partition, through its console."""
        return self.shown("partition", command, self._machine.partition(_NAME, login="root"))

    def show(self) -> dict[str, Any]:
        """Return what the tool knows about the partition."""
        found: dict[str, Any] = json.loads(self._machine.run(f"shimos show {_NAME} --json").output)
        return found

    def run(self) -> list[str]:
        """Show all steps; returns what did not hold."""
        first = self._start()
        self._use()
        self._talk()
        self._serve()
        self._panic()
        self._again(first)
        self._give_back()
        return self.failed

    def _start(self) -> str:
        machine = self._machine
        say("the host is a stock Debian kernel:")
        self.type("uname -a")
        self.type("nproc")
        say("a disk with a stock Debian root on it, which the host shares, and a bridge:")
        self.type(f"lsblk -o NAME,SIZE,LABEL {machine.disk('root')}; {_BRIDGE}")
        say(
            "starting a second stock kernel, of another version, on CPUs 2 and 3 with 1 GiB; disk and network are the host's:"
        )
        self.type(_run_command(machine))
        self.type("shimos ls; shimos devices")
        boot = self._check_running()
        self.check("the two kernels have different boot ids", boot != self._host_boot, f"{self._host_boot}, {boot}")
        return boot

    def _check_running(self) -> str:
        """Let both kernels say who they are; returns the partition's boot id."""
        machine = self._machine
        with step("the partition boots its root with systemd, to a login on its console"):
            machine.partition(_NAME, timeout=_BOOT, login="root")
        inside = self.type_inside("uname -a")
        self.check("the partition runs the other stock kernel", machine.versions["6.1"] in inside)
        count = self.type_inside("nproc").strip()
        self.check("the partition has 2 CPUs", count == "2", count)
        host = parse_cpu_list(self.type("cat /sys/devices/system/cpu/online"))
        self.check("the host has the other 2", host == [c for c in self._cpus if c not in _CPUS], host)
        listed = json.loads(machine.run("shimos ls --json").output)["partitions"]
        seen = [(p["name"], p["state"], p["cpus"], p["memory"]) for p in listed]
        self.check("shimos lists it", seen == [(_NAME, "running", _CPUS, _MEMORY)], seen)
        return self.type_inside("cat /proc/sys/kernel/random/boot_id").strip()

    def _use(self) -> None:
        say("a real command in the partition:")
        output = self.type_inside("seq 1 100000 | sha256sum")
        here = self._machine.run("seq 1 100000 | sha256sum").output
        self.check("it computes what the host computes", output == here)
        self.type_inside("free -m; findmnt -n /; ps -e | tail -n 3")

    def _talk(self) -> None:
        say("packets between the two kernels, through shared memory:")
        self.type(f"shimos ping -c 5 -i 0.1 {_NAME}")
        self.type(f"shimos perf --time 1 {_NAME}")
        self.type("shimos ikc")
        queues = self.show()["queues"]
        count = sum(q["packets"] for q in queues)
        self.check("the partition got the packets", count > 5, count)

    def _serve(self) -> None:
        say("a web server in the partition: from the shared disk through the shared network:")
        self.type_inside(f"dd if=/dev/urandom of={_FILE} bs=1M count=32 status=none; sync; systemctl start nginx")
        there = self.type_inside(f"sha256sum {_FILE}")
        self._fetch(there)
        self.type("shimos devices")

    def _fetch(self, there: str) -> None:
        here = self.type(f"curl -sS http://{_PARTITION}/{_FILE.split('/')[-1]} | sha256sum")
        self.check("the host fetched what the partition has on its disk", here.split()[0] == there.split()[0])

    def _panic(self) -> None:
        say("making the partition's kernel panic:")
        console = self._machine.partition(_NAME, login="root")
        print("\n    partition# echo c > /proc/sysrq-trigger", flush=True)
        console.send(b"echo c >/proc/sysrq-trigger\n")
        with step("waiting until KLoader has seen it"):
            wait = f"until grep -q crashed /sys/class/shimos/{_NAME}/state; do sleep 0.05; done"
            self._machine.run(wait, timeout=30)
        console.close()
        self.type("shimos ls")
        self.type(f"shimos logs {_NAME} | tail -n 12")
        after = self.show()
        self.check("it ended by a panic", (after["state"], after["cause"]) == ("crashed", "panic"), after["message"])
        alive = self._machine.boot_id()
        self.check("the host lives on: same boot id", alive == self._host_boot)

    def _again(self, first: str) -> None:
        say("starting it again:")
        with step("shimos restart"):
            self.type(f"shimos restart {_NAME}")
        boot = self._check_running()
        self.check("it is a new boot", boot not in (first, self._host_boot), boot)
        say("what was written before the panic is still there:")
        self.type_inside("systemctl start nginx")
        self._fetch(self.type_inside(f"sha256sum {_FILE}"))
        self._machine.partition(_NAME, login="root").close()

    def _give_back(self) -> None:
        say("ending it and giving everything back:")
        with step("shimos stop and rm"):
            self.type(f"shimos stop {_NAME}")
            self.type(f"shimos rm {_NAME}")
        self.type(f"fsck.ext4 -fn {self._machine.disk('root')}")
        cpus, free = self._machine.online_cpus(), self._machine.mem_free()
        self.check("the host has all its CPUs", cpus == self._cpus, cpus)
        missing = max(0, self._free - free) >> 20
        self.check("the host has its memory", free > self._free - _SLACK, f"{missing} MiB less free than before")
        self.check("no partition is left", json.loads(self._machine.run("shimos ls --json").output)["partitions"] == [])
        self.check_log()


def _run_command(machine: Machine) -> str:
    """Boot the shared disk with Debian's own kernel 6.1 and initrd."""
    root = f"root=LABEL=partition ip={_PARTITION}::{_HOST}:255.255.255.0::eth0:off net.ifnames=0"
    return (
        f"shimos run {_NAME} --cpuset 2-3 --memory 1G --kernel {machine.vmlinuz('6.1')}"
        f" --disk {machine.disk('root')} --net br0 --cmdline '{root}'"
    )


def _greeting(machine: Machine) -> str:
    return f"""
This is a shell on the emulated machine; `exit` leaves it (and ends the machine), Ctrl-\\ does so at once.

    shimos doctor
    shimos run {_NAME} --cpuset 2-3 --memory 1G --kernel {machine.vmlinuz("6.1")} --initrd {LAB_INITRD}
    {_BRIDGE}
    {_run_command(machine).replace(_NAME, "debian", 1)}
    shimos console {_NAME}      Ctrl-] leaves the partition's console
    shimos ls; shimos logs {_NAME}; shimos stop {_NAME}; shimos rm {_NAME}
"""


def _machine(arch: Arch, acpi: bool) -> Machine:
    root = Disk("root", lambda: partition_root("6.1", arch.name))
    return Machine(arch=arch.name, acpi=acpi, disks=[root], tests=False)


def main() -> int:
    """Run the demo; status 0 if every check held."""
    parser = argparse.ArgumentParser(prog="./demo", description=__doc__.splitlines()[0] if __doc__ else None)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--shell", action="store_true", help="a shell on the emulated machine, everything prepared")
    what.add_argument("--rt", action="store_true", help="an RTOS and Linux on the same core")
    parser.add_argument("--arch", choices=sorted(ARCHES), default=DEFAULT.name, help=f"of the machine ({DEFAULT.name})")
    parser.add_argument("--device-tree", action="store_true", help="an arm64 machine without ACPI")
    arguments = parser.parse_args()
    arch = ARCHES[arguments.arch]
    if arguments.rt and not arch.kml_and_rt:
        parser.error(f"--rt: there are no real-time partitions on {arch.name}")
    if arguments.device_tree and arch.firmware is None:
        parser.error(f"--device-tree: machines of {arch.name} have ACPI; add --arch arm64")
    say("preparing the lab")
    with demo_rt.machine() if arguments.rt else _machine(arch, not arguments.device_tree) as machine:
        say(f"the machine is up after {machine.boot_seconds:.1f} s ({machine.accelerator})")
        if arguments.shell:
            terminal.shell(machine, _greeting(machine))
            return 0
        failed = (demo_rt.DemoRt if arguments.rt else Demo)(machine).run()
    if failed:
        print("\nThis did not hold:\n" + "\n".join(f"  {f}" for f in failed))
        return 1
    print(f"\nAll of it held, in {progress.elapsed():.0f} s.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
