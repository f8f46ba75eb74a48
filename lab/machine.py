"""The emulated machine that demo, tests and benchmarks use.

with Machine() as machine:
    print(machine.run("uname -a").output)
"""

from __future__ import annotations

import base64
import inspect
import re
import secrets
import shlex
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from lab import accelerator, boot, build, cache, faults, host, host_root, kernels, template
from lab.arch import ARCHES
from lab.boot import Running
from lab.consoles import Consoles
from lab.devices import Disk, Nic, Place
from lab.diagnosis import Diagnosis
from lab.ledger import Entry, note
from lab.partition import PartitionConsole
from lab.paths import LOGS, SRC
from lab.qemu import Config, Emulator
from lab.shell import Result, Shell
from lab.spec import MachineSpec

#: The bare busybox initrd, on every machine.
LAB_INITRD = "/boot/lab-initrd.img"


class Machine:
    """A fresh machine: stock Debian host, ours installed, shells connected.

    The options are MachineSpec's.  It is a clone of a template where one can be had
    (lab/template.py), else it boots.
    """

    #: Seconds within which the machine has shells, when it boots.
    BOOT_SECONDS = boot.BOOT_SECONDS
    #: Whether it may be a clone.
    TEMPLATES = True
    #: Whether it is the emulator's fault when a CPU of it loses an interrupt (lab/faults.py).
    judged = True

    def __init__(self, **options: Any):
        #: What made it, to make another like it.
        self.spec = MachineSpec(**options)
        #: What it is called in what is said about it.
        self.name = "machine"
        self.flavour = self.spec.kernel
        self.arch = ARCHES[self.spec.arch]
        self.consoles = Consoles()
        #: Kernel versions by flavour.
        self.versions: dict[str, str] = {}
        #: Seconds from the start of the emulator until a shell answers.
        self.boot_seconds = 0.0
        self._running: Running | None = None
        self._directory: Path | None = None

    # Life ------------------------------------------------------------------

    def __enter__(self) -> Machine:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> Machine:
        """Build what is missing and boot or clone; returns itself with shells ready."""
        try:
            config = self.adapt(self._config())
            self._use(self._clone_or_boot(config, self._setup()))
            if not self.spec.stage:
                self._install()
            self.run(f"/lab/refresh {time.time():.3f} {secrets.token_hex(64)}")
        except BaseException:
            self.stop()
            raise
        return self

    def _use(self, running: Running) -> None:
        self._running = running
        self.consoles = running.consoles
        self.boot_seconds = running.seconds

    def _install(self) -> None:
        self.run("/lab/install")
        if self.spec.load:
            self.load()

    def _setup(self) -> template.Setup:
        """Return what the machine does before it is frozen: its cards, and its stage."""
        cards = " && ".join(["true", *(f"modprobe {n.module} && {n.setup(i)}" for i, n in enumerate(self.spec.nics))])
        stage = self.spec.stage
        if not stage:
            return template.Setup(cards, lambda running: _run_first(running, cards))

        def run(running: Running) -> None:
            _run_first(running, cards)
            self._use(running)
            self._install()
            stage(self)
            self.release_consoles()

        # What is under test is in the configuration.
        sources = (Path(inspect.getfile(stage)), *sorted((SRC / "lab" / "stage").glob("*.py")))
        key = cache.digest(cards, stage.__qualname__, str(self.spec.load), *sources)
        return template.Setup(key, run)

    def adapt(self, config: Config) -> Config:
        """Change what the emulator is told; for machines of another kind."""
        return config

    def _config(self) -> Config:
        spec = self.spec
        found = kernels.get(*spec.flavours, arch=self.arch)
        self.versions = {k.flavour: k.version for k in found}
        self._unpacked = {k.flavour: k.unpacked.name for k in found}
        # The machine's first program knows what is a kernel's disk by the serial.
        disks = [Disk("system", host_root.root_disk(self.arch))]
        disks += [Disk(f"kernel-{k.flavour}", host.kernel_disk(k, spec.debian_initrds)) for k in found]
        disks += [disk.made() for disk in spec.disks]
        disks.append(Disk("payload", build.payload(found, spec.tests), late=not spec.stage))
        return Config(
            found[0].image,
            host.initramfs(found[0]),
            spec.host_cmdline,
            disks=disks,
            nics=spec.nics,
            pci=spec.pci,
            cpus=spec.cpus,
            memory=spec.memory,
            accel=self._accelerator(found[0]),
            extra=spec.extra,
            arch=self.arch,
            acpi=spec.acpi,
        )

    def _accelerator(self, kernel: kernels.Kernel) -> str:
        if self.spec.icount:
            return "icount"
        found = accelerator.accelerator(kernel, host.partition_initrd(self.arch)) if self.arch.native else "tcg"
        return "tcg-single" if found == "tcg" and self.spec.one_thread else found

    def _clone_or_boot(self, config: Config, setup: template.Setup) -> Running:
        name = f"host {self.versions[self.flavour]}"
        if self.TEMPLATES:
            try:
                return template.clone(config, setup, self._new_directory(), name)
            except template.Unfit as unfit:
                note(Entry("cold", name, why=str(unfit)))
        running = boot.boot(config, self._cold_place, name, self.BOOT_SECONDS)
        setup.run(running)
        return running

    def _cold_place(self) -> Place:
        directory = self._new_directory()
        return Place("cold", directory, directory)

    def _new_directory(self) -> Path:
        self._remove_directory()
        self._directory = Path(tempfile.mkdtemp(prefix="machine-"))
        return self._directory

    def _remove_directory(self) -> None:
        if self._directory:
            shutil.rmtree(self._directory)
            self._directory = None

    def stop(self) -> None:
        """Switch it off."""
        if self._running:
            self._running.stop()
            LOGS.mkdir(exist_ok=True)
            shutil.copyfile(self._running.emulator.log, LOGS / "last-ttyS0.log")
            self._running = None
        self._remove_directory()

    # Commands --------------------------------------------------------------

    def run(self, command: str, timeout: float = 60.0, check: bool = True) -> Result:
        """Run a command as root on the host; see Shell.run."""
        result = self.consoles.first().run(command, timeout, check)
        for name in faults.restarted(result.output):
            faults.record("no APIC timer found", f"boot of partition {name}")
        return result

    def shell(self, number: int) -> Shell:
        """Return an independent shell (1 to 7), for commands that run side by side."""
        return self.consoles.claim(number)

    def partition(self, name: str, timeout: float = 60.0, login: str = "") -> PartitionConsole:
        """Return the console of a partition, attached in a spare shell of the host.

        ``login`` is for partitions that ask for a user, as a Debian root does.
        """
        return self.consoles.partition(name, timeout, login)

    def release_consoles(self) -> None:
        """Leave all partitions' consoles that are still attached."""
        self.consoles.release()

    def load(self) -> None:
        """Load KLoader."""
        self.run("modprobe shimos_kloader")

    def put(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Write a file on the machine."""
        quoted = shlex.quote(path)
        self.run(f"echo {base64.b64encode(data).decode()} | base64 -d >{quoted} && chmod {mode:o} {quoted}")

    def disk(self, serial: str) -> str:
        """Return the path of one of its ``disks``: /dev/vde."""
        files = "/sys/block/*/serial /sys/block/*/device/serial"
        found = self.run(f"grep -lx '{serial} *' {files} 2>/dev/null || :").lines
        assert len(found) == 1, f"disks with the serial {serial}: {found}"
        return f"/dev/{found[0].split('/')[3]}"

    def forward(self, port: int, address: str = "10.0.2.15") -> int:
        """Return a port of 127.0.0.1 here that leads to one on the first card's network."""
        # The emulator chooses a free one; only people are told which.
        error = self.emulator.hmp(f"hostfwd_add net0 tcp:127.0.0.1:0-{address}:{port}")
        known = self.emulator.hmp("info usernet")
        match = re.search(rf"HOST_FORWARD\] +\d+ +127\.0\.0\.1 +(\d+) +{re.escape(address)} +{port} ", known)
        assert match, f"no forwarding to {address}:{port}: {error}{known}"
        return int(match[1])

    def site(self, port: int, address: str = "10.0.2.15") -> str:
        """Return the same, of a web server there, as a URL."""
        return f"http://127.0.0.1:{self.forward(port, address)}"

    # Facts -----------------------------------------------------------------

    @property
    def emulator(self) -> Emulator:
        """The running emulator."""
        assert self._running, "the machine is not running"
        return self._running.emulator

    @property
    def diagnosis(self) -> Diagnosis:
        """What is known of it when it is in trouble."""
        assert self._running, "the machine is not running"
        return self._running.diagnosis

    @property
    def accelerator(self) -> str:
        """``kvm``, ``tcg``, ``tcg-single`` or ``icount``."""
        return self.emulator.config.accel

    @property
    def process(self) -> int | None:
        """The emulator, if there is one."""
        return self.emulator.process.pid

    @property
    def nics(self) -> Sequence[Nic]:
        """Its cards."""
        return self.spec.nics

    def vmlinuz(self, flavour: str) -> str:
        """Return the path of a stock kernel on the machine."""
        return f"/boot/vmlinuz-{self.versions[flavour]}"

    def vmlinux(self, flavour: str) -> str:
        """Return the same kernel unpacked, which takes no time for that and has no KASLR, for --kernel."""
        return f"/boot/{self._unpacked[flavour]}"

    def debian_initrd(self, flavour: str) -> str:
        """Return the path of Debian's own initrd for that kernel on the machine."""
        return f"/boot/initrd.img-{self.versions[flavour]}"

    def dmesg(self) -> str:
        """Return the host's kernel log."""
        return self.run("dmesg | cat").output  # it colours what goes to a terminal

    def assert_dmesg_clean(self) -> None:
        """Fail on warnings, oopses, stalls, lock reports in the host's log."""
        bad = faults.unclean(self.dmesg())
        assert not bad, "the host's kernel log is not clean:\n" + "\n".join(bad)

    def online_cpus(self) -> list[int]:
        """Return the numbers of the host's CPUs that are online."""
        return parse_cpu_list(self.run("cat /sys/devices/system/cpu/online").output)

    def meminfo(self, field: str) -> int:
        """Return a field of /proc/meminfo in bytes."""
        text = self.run("cat /proc/meminfo").output
        match = re.search(rf"^{re.escape(field)}:\s+(\d+) kB", text, re.MULTILINE)
        assert match, f"no {field} in /proc/meminfo"
        return int(match[1]) * 1024

    def mem_free(self) -> int:
        """Return free bytes with caches dropped, so that two values compare.

        What lies free in the per-CPU lists counts, for it varies by 30 MiB.  Pages wander
        between these and the rest at any time: hence one file that has both.
        """
        # 4: the kernel does not log each 3
        self.run("sync; echo 4 >/proc/sys/vm/drop_caches; echo 3 >/proc/sys/vm/drop_caches")
        free = '$1 == "pages" && $2 == "free" {n += $3} $1 == "count:" {n += $2} END {print n}'
        pages, size = self.run(f"awk '{free}' /proc/zoneinfo; getconf PAGESIZE").lines
        return int(pages) * int(size)

    def boot_id(self) -> str:
        """Return the id of the host's present boot; a machine that was reset has another."""
        return self.run("cat /proc/sys/kernel/random/boot_id").output.strip()

    def qmp(self, command: str, **arguments: Any) -> Any:
        """Send the monitor a command; returns its answer."""
        return self.emulator.qmp(command, **arguments)


def _run_first(running: Running, command: str) -> None:
    running.consoles.first().run(command)


def parse_cpu_list(text: str) -> list[int]:
    """Read CPU numbers of a list as Linux writes it: ``0-1,3``."""
    cpus: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        cpus += range(int(first), int(last or first) + 1)
    return cpus


def fresh_name(prefix: str = "p") -> str:
    """Return a partition name nobody has used."""
    return f"{prefix}{secrets.token_hex(3)}"
