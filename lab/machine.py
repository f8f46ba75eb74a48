"""The emulated machine that demo, tests and benchmarks use.

with Machine() as machine:
    print(machine.run("uname -a").output)
"""

from __future__ import annotations

import base64
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

import pexpect
from pexpect.socket_pexpect import SocketSpawn
from qemu.qmp import QMPError

from lab import build, faults, host, host_root, kernels, progress, qemu
from lab.devices import Disk, Nic
from lab.partition import PartitionConsole
from lab.paths import LOGS
from lab.shell import Result, Shell

#: The bare busybox initrd, on every machine.
LAB_INITRD = "/boot/lab-initrd.img"

_BOOT_TRIES = 4
_TAIL = 4000


class BootError(RuntimeError):
    """The machine did not come up."""


class Machine:
    """A fresh machine: stock Debian host, ours installed, shells connected.

    ``kernel`` is the host's (a key of ``kernels.FLAVOURS``), ``partitions`` are
    the kernels that shall be on its disk for partitions.  ``ipi_broadcast``
    leaves out the host parameter that KLoader insists on.  ``icount`` makes an
    emulated machine whose clock counts instructions.  ``one_thread`` runs one
    CPU at a time if it is emulated, for tests that change code which is running
    (docs/lab.md).  ``disks`` and ``nics`` it has beside the disks it boots from.
    ``pci`` are devices behind PCIe ports, which could be given to partitions.
    """

    #: Seconds within which the machine has shells.
    BOOT_SECONDS = 120.0

    def __init__(
        self,
        kernel: str = "6.12",
        partitions: Sequence[str] = ("6.1", "6.12"),
        cpus: int = 4,
        memory: str = "4G",
        cmdline: str = "",
        ipi_broadcast: bool = False,
        load: bool = True,
        extra: Sequence[str] = (),
        icount: bool = False,
        one_thread: bool = False,
        disks: Sequence[Disk] = (),
        nics: Sequence[Nic] = (),
        pci: Sequence[qemu.PciDevice] = (),
    ):
        #: What made it, to make another like it.
        self.options: dict[str, Any] = {
            "kernel": kernel,
            "partitions": partitions,
            "cpus": cpus,
            "memory": memory,
            "cmdline": cmdline,
            "ipi_broadcast": ipi_broadcast,
            "load": load,
            "extra": extra,
            "icount": icount,
            "one_thread": one_thread,
            "disks": disks,
            "nics": nics,
            "pci": pci,
        }
        #: For people.
        self.name = "machine"
        self.flavour = kernel
        self._flavours = list(dict.fromkeys([kernel, *partitions]))
        self._cpus = cpus
        self._memory = memory
        self._ipi_broadcast = ipi_broadcast
        self._cmdline = cmdline
        self._load = load
        self._extra = list(extra)
        self._icount = icount
        self._one_thread = one_thread
        self._disks = list(disks)
        self._nics = list(nics)
        self._pci = pci
        self._directory: Path | None = None
        self._shells: dict[int, Shell] = {}
        self._claimed: set[int] = set()
        self._partitions: dict[str, PartitionConsole] = {}
        self._noted_fault: str | None = None
        self.emulator: qemu.Emulator
        #: How often the boot was repeated because of a known emulator fault.
        self.retries = 0
        #: Seconds from the start of the emulator to a shell.
        self.boot_seconds = 0.0
        self.versions: dict[str, str] = {}

    # Life ------------------------------------------------------------------

    def __enter__(self) -> Machine:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> Machine:
        """Build what is missing and boot; returns itself with shells ready."""
        found = kernels.get(*self._flavours)
        self.versions = {k.flavour: k.version for k in found}
        base = host.initramfs(found[0])
        payload = build.payload(found, build.everything() | {"boot/lab-initrd.img": host.partition_initrd()})
        # The machine's first program knows what is a kernel's disk by the serial.
        disks = [Disk("system", host_root.root_disk())]
        disks += [Disk(f"kernel-{k.flavour}", host.kernel_disk(k)) for k in found]
        disks += [disk.made() for disk in self._disks]
        accel = "icount" if self._icount else qemu.accelerator(found[0], host.partition_initrd())
        if accel == "tcg" and self._one_thread:
            accel = "tcg-single"

        for attempt in range(1, _BOOT_TRIES + 1):
            self._directory = Path(tempfile.mkdtemp(prefix="machine-"))
            initrd = self._directory / "initrd"
            initrd.write_bytes(base.read_bytes() + payload.read_bytes())
            config = qemu.Config(
                found[0].image,
                initrd,
                self._host_cmdline(),
                self._directory,
                disks=disks,
                nics=self._nics,
                pci=self._pci,
                cpus=self._cpus,
                memory=self._memory,
                accel=accel,
                extra=self._extra,
            )
            try:
                self._boot(config)
                break
            except BootError:
                fault = faults.emulator_fault(self.emulator.console())
                self.stop()
                if not fault or attempt == _BOOT_TRIES:
                    raise
                faults.record(fault, f"boot of host {self.versions[self.flavour]}")
                progress.say(f"known emulator fault ({fault}): booting again")
                self.retries += 1
        if self._nics:
            # In this order, for it gives them their names.
            setup = [f"modprobe {nic.module} && {nic.setup(n)}" for n, nic in enumerate(self._nics)]
            self.run(" && ".join(setup))
        if self._load:
            self.load()
        return self

    def stop(self) -> None:
        """Switch it off."""
        for shell in self._shells.values():
            shell.channel.close()
        self._shells.clear()
        self._partitions.clear()
        self._claimed.clear()
        self.emulator.stop()
        if self._directory:
            LOGS.mkdir(exist_ok=True)
            shutil.copyfile(self.emulator.log, LOGS / "last-ttyS0.log")
            shutil.rmtree(self._directory)
            self._directory = None

    def _host_cmdline(self) -> str:
        words = ["console=ttyS0", "panic=-1", "tsc=reliable", "random.trust_cpu=1"]
        if not self._ipi_broadcast:
            words.append("no_ipi_broadcast=1")
        return " ".join([*words, self._cmdline]).strip()

    def _boot(self, config: qemu.Config) -> None:
        started = time.monotonic()
        self.emulator = qemu.Emulator(config)
        # Connected before the machine says anything, so that nothing is lost.
        for number in range(config.shells):
            channel = SocketSpawn(self.emulator.shells[number], timeout=60, maxread=65536)
            channel.delaybeforesend = None
            self._shells[number] = Shell(channel, f"host shell {number}", context=self._context)
        for number in range(config.shells):
            self._wait_for_banner(self._shells[number], started + self.BOOT_SECONDS)
        self.boot_seconds = time.monotonic() - started

    def _wait_for_banner(self, shell: Shell, deadline: float) -> None:
        while True:
            try:
                shell.channel.expect_exact(b"lab-shell ready\n", timeout=0.5)
                return
            except pexpect.TIMEOUT:
                console = self.emulator.console()
                if faults.emulator_fault(console):
                    raise BootError(f"died of a known emulator fault:\n{console[-_TAIL:]}") from None
                if time.monotonic() > deadline:
                    raise BootError(f"no shell after {self.BOOT_SECONDS:g} s:\n{console[-_TAIL:]}") from None
            except pexpect.EOF:
                text = self.emulator.console()[-_TAIL:] + self.emulator.errors()
                raise BootError(f"the machine died while booting:\n{text}") from None

    def _context(self) -> str:
        return f"serial console of the machine:\n{self.serial_tail()}\nits CPUs:\n{self.cpus_text()}"

    def cpus_text(self) -> str:
        """The same as cpu_states(), to read."""
        return "\n".join(text for state in self.cpu_states() for text in state)

    def cpu_states(self) -> list[tuple[str, str]]:
        """Of each CPU a line about where it is, and what its local APIC holds; nothing of a dead machine."""
        try:
            registers = re.findall(r"^RIP=.*", self._monitor("info registers -a"), re.MULTILINE)
            return [(where, self._monitor(f"info lapic {cpu}")) for cpu, where in enumerate(registers)]
        except (QMPError, OSError):
            return []

    def fault(self) -> str | None:
        """The emulator's fault that stopped this machine or one of its CPUs, as far as it can be told for sure."""
        if stale := faults.stale_breakpoint(self.emulator.console()):
            return stale
        lost = [str(cpu) for cpu, state in enumerate(self.cpu_states()) if faults.interrupt_lost(*state)]
        return f"timer interrupt of CPU {', '.join(lost)} lost" if lost else self._noted_fault

    def note_fault(self) -> None:
        """Remember that now, before what shows it is cleared away."""
        self._noted_fault = self.fault()

    # Commands --------------------------------------------------------------

    def run(self, command: str, timeout: float = 60.0, check: bool = True) -> Result:
        """Run a command as root on the host; see Shell.run."""
        result = self._shells[0].run(command, timeout, check)
        for name in faults.restarted(result.output):
            faults.record("no APIC timer found", f"boot of partition {name}")
        return result

    def shell(self, number: int) -> Shell:
        """An independent shell (1 to 7), for commands that run side by side."""
        self._claimed.add(number)
        return self._shells[number]

    def partition(self, name: str, timeout: float = 60.0, login: str = "") -> PartitionConsole:
        """The console of a partition, attached in a spare shell of the host.

        ``login`` is for partitions that ask for a user, as a Debian root does.
        """
        if name not in self._partitions:
            number = max(n for n in self._shells if n not in self._claimed and n != 0)
            console = PartitionConsole(self.shell(number), name)
            console.on_close = lambda: self._release(name, number)
            self._partitions[name] = console
            console.attach(timeout, login)
        return self._partitions[name]

    def _release(self, name: str, number: int) -> None:
        self._partitions.pop(name, None)
        self._claimed.discard(number)

    def release_consoles(self) -> None:
        """Leave all partitions' consoles that are still attached."""
        for console in list(self._partitions.values()):
            console.close()
        self._claimed.clear()

    def load(self) -> None:
        """Load KLoader."""
        self.run("modprobe shimos_kloader")

    def put(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Write a file on the machine."""
        quoted = shlex.quote(path)
        self.run(f"echo {base64.b64encode(data).decode()} | base64 -d >{quoted} && chmod {mode:o} {quoted}")

    def disk(self, serial: str) -> str:
        """The path of one of its ``disks``: /dev/vde."""
        files = "/sys/block/*/serial /sys/block/*/device/serial"
        found = self.run(f"grep -lx '{serial} *' {files} 2>/dev/null || :").lines
        assert len(found) == 1, f"disks with the serial {serial}: {found}"
        return f"/dev/{found[0].split('/')[3]}"

    def forward(self, port: int, address: str = "10.0.2.15") -> int:
        """A port of 127.0.0.1 here that leads to one on the first card's network."""
        # The emulator chooses a free one; only people are told which.
        error = self._monitor(f"hostfwd_add net0 tcp:127.0.0.1:0-{address}:{port}")
        known = self._monitor("info usernet")
        match = re.search(rf"HOST_FORWARD\] +\d+ +127\.0\.0\.1 +(\d+) +{re.escape(address)} +{port} ", known)
        assert match, f"no forwarding to {address}:{port}: {error}{known}"
        return int(match[1])

    def site(self, port: int, address: str = "10.0.2.15") -> str:
        """The same, of a web server there, as a URL."""
        return f"http://127.0.0.1:{self.forward(port, address)}"

    def _monitor(self, command: str) -> str:
        return str(self.qmp("human-monitor-command", **{"command-line": command}))

    # Facts -----------------------------------------------------------------

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
        return self._nics

    def vmlinuz(self, flavour: str) -> str:
        """Path of a stock kernel on the machine."""
        return f"/boot/vmlinuz-{self.versions[flavour]}"

    def debian_initrd(self, flavour: str) -> str:
        """Path of Debian's own initrd for that kernel on the machine."""
        return f"/boot/initrd.img-{self.versions[flavour]}"

    def dmesg(self) -> str:
        return self.run("dmesg | cat").output  # it colours what goes to a terminal

    def assert_dmesg_clean(self) -> None:
        """Fail on warnings, oopses, stalls, lock reports in the host's log."""
        bad = faults.unclean(self.dmesg())
        assert not bad, "the host's kernel log is not clean:\n" + "\n".join(bad)

    def online_cpus(self) -> list[int]:
        return parse_cpu_list(self.run("cat /sys/devices/system/cpu/online").output)

    def meminfo(self, field: str) -> int:
        """A field of /proc/meminfo in bytes."""
        text = self.run("cat /proc/meminfo").output
        match = re.search(rf"^{re.escape(field)}:\s+(\d+) kB", text, re.MULTILINE)
        assert match, f"no {field} in /proc/meminfo"
        return int(match[1]) * 1024

    def mem_free(self) -> int:
        """Free bytes with caches dropped, so that two values compare.

        What lies free in the per-CPU lists counts, for it varies by 30 MiB.  Pages wander
        between these and the rest at any time: hence one file that has both.
        """
        # 4: the kernel does not log each 3
        self.run("sync; echo 4 >/proc/sys/vm/drop_caches; echo 3 >/proc/sys/vm/drop_caches")
        free = '$1 == "pages" && $2 == "free" {n += $3} $1 == "count:" {n += $2} END {print n}'
        return int(self.run(f"awk '{free}' /proc/zoneinfo").output) * 4096

    def boot_id(self) -> str:
        return self.run("cat /proc/sys/kernel/random/boot_id").output.strip()

    def serial_tail(self, size: int = _TAIL) -> str:
        """The end of what the host's kernel wrote to the serial console."""
        return self.emulator.console()[-size:]

    def qmp(self, command: str, **arguments: Any) -> Any:
        """A QEMU monitor command."""
        return self.emulator.qmp(command, **arguments)


def parse_cpu_list(text: str) -> list[int]:
    """CPU numbers of a list as Linux writes it: ``0-1,3``."""
    cpus: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        cpus += range(int(first), int(last or first) + 1)
    return cpus


def fresh_name(prefix: str = "p") -> str:
    """A partition name nobody has used."""
    return f"{prefix}{secrets.token_hex(3)}"
