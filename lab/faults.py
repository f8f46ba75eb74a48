"""Judging kernel logs: emulator faults that are known, and all that is unclean."""

from __future__ import annotations

import re
import time
from pathlib import Path

from lab import ledger
from lab.paths import CACHE

#: One line per boot or test that was ever repeated.
RECORD = CACHE / "emulator-faults.log"

# A CPU of multi-threaded TCG may keep the translation of a breakpoint by which the kernel patched
# a branch of its own (docs/lab.md): it dies of an int3 that is not in memory any more.
# Only the first oops counts, and only with a whole patched instruction where the int3 was.
_OOPS = re.compile(r"(?:Oops: )?int3: 0000 \[#1\]")
_ANY_OOPS = re.compile(r"\[#1\]|Oops|BUG: |Kernel panic")
# In the kernel itself: behind a module's function its name follows.
_RIP = re.compile(r"RIP: 0010:(\w[.\w]*)\+0x[0-9a-f]+/0x[0-9a-f]+$", re.MULTILINE)
# The byte in brackets is at RIP, one behind the int3: a NOP, jump or call of five bytes, or of two.
_PATCHED = re.compile(
    r"Code: (?:[0-9a-f]{2} )*(?:0f <1f> 44 00 00|e[89] <[0-9a-f]{2}>(?: [0-9a-f]{2}){3}|66 <90>|eb <[0-9a-f]{2}>)"
)

# Rarer (once in a hundred boots): the emulator loses one CPU's timer interrupt, and with
# it all later ones; the CPU idles for ever while RCU waits for its thread.  In the one such
# boot that was traced (apic_register_write), the APIC held that interrupt in service, and
# nothing ended it, since about the time at which the kernel stopped all CPUs to change its clock.
_LOST_TIMER = re.compile(r"rcu: rcu_preempt kthread timer wakeup didn't happen for \d+ jiffies!")
_TIMER_CPU = re.compile(r"rcu: \tPossible timer handling issue on cpu=(\d+) timer-softirq=")
# On a busy computer the emulator's CPU may stand still while the kernel measures its clock by a timer
# that goes on.  The kernel believes that one, and not the other timer that it has looked at.
_CLOCK = re.compile(r"tsc: PIT calibration deviates from HPET: (\d+) (\d+)")
_MOST_WRONG = 2

# Once our code has run, a lost interrupt is not the emulator's fault without a closer look: interrupt_lost().
_OURS = re.compile(r"\bshimos")

# What a healthy kernel never says.
_UNCLEAN = re.compile(
    r"""WARNING:|\bBUG\b|\bOops\b|Kernel\ panic|Call\ Trace|general\ protection|unable\ to\ handle
    |possible\ .*(?:deadlock|locking\ dependency)|suspicious\ RCU|inconsistent\ lock\ state|lock\ held\ when
    |detected\ (?:expedited\ )?stalls|self-detected\ stall|rcu_preempt\ kthread\ starved
    |soft\ lockup|hard\ LOCKUP|blocked\ for\ more\ than|list_(?:add|del)\ corruption|refcount_t:
    |bad\ page\ state|Bad\ page|scheduling\ while\ atomic|sleeping\ function\ called
    |spurious\ interrupt|irq\ \d+:\ nobody\ cared|No\ irq\ handler\ for\ vector|Out\ of\ memory
    |UBSAN|KASAN|KCSAN|KFENCE:\ |kmemleak:\ \d|taint(?:s|ed)\ kernel:\ .*bad""",
    re.VERBOSE,
)
# Words that look unclean and are not.
_HARMLESS = re.compile(
    r"""kfence:\ initialized|RETBleed:\ WARNING|debug:\ .*enabled|Command\ line:|Kernel\ command\ line:|BUG_ON\ .*enabled""",
    re.VERBOSE,
)


def emulator_fault(log: str) -> str | None:
    """Return the known emulator fault that killed this boot, or None.

    ``log`` is the console of a boot that did not reach its end.
    """
    return stale_breakpoint(log) or _wrong_clock(log) or (None if _OURS.search(log) else _lost_timer(log))


def first_oops(log: str) -> int | None:
    """Return where a kernel's log begins to tell of its death, or None."""
    first = _ANY_OOPS.search(log)
    return log.rfind("\n", 0, first.start()) + 1 if first else None


def stale_breakpoint(log: str) -> str | None:
    """Return the name of a breakpoint that only the emulator still knew and that the kernel died of, or None."""
    first = first_oops(log)
    if first is None or not _OOPS.search(log[first:].partition("\n")[0]):
        return None
    code = log.find("Code: ", first)
    rip = _RIP.search(log, first, code) if code >= 0 else None
    if not rip or not _PATCHED.match(log, code):
        return None
    return f"Oops: int3 at {rip[1]}, where there is none"


def _wrong_clock(log: str) -> str | None:
    clock = _CLOCK.search(log)
    if not clock:
        return None
    least, most = sorted(map(int, clock.groups()))
    return "clock measured wrongly" if most > _MOST_WRONG * least else None


def _lost_timer(log: str) -> str | None:
    stall = _LOST_TIMER.search(log)
    if not stall or _ANY_OOPS.search(log):
        return None
    cpu = _TIMER_CPU.search(log, stall.end())
    # That CPU must have been found idle: its timer is lost, it is not busy.
    idle = cpu and re.search(
        rf"NMI backtrace for cpu {cpu[1]}(?:\n(?:.*\n){{1,25}}?.*\bdefault_idle| skipped: idling at native_safe_halt)\+",
        log,
    )
    return "timer of an idle CPU lost" if idle else None


_ASLEEP = re.compile(r"RFL=([0-9a-f]+) .*HLT=1")
_IF = 1 << 9
_TIMER_VECTOR = re.compile(r"^LVTT\s.*\(vec (\d+)\)", re.MULTILINE)


def interrupt_lost(registers: str, lapic: str) -> bool:
    """Return whether the emulator lost the timer interrupt of a CPU between its APIC and its kernel.

    ``registers`` is the line of ``info registers`` with its flags, ``lapic`` the answer to
    ``info lapic``.  The CPU sleeps with interrupts on, and yet its timer's interrupt counts as
    in service: no handler has run, for that would have ended it, and the next one is waiting.
    """
    asleep, vector = _ASLEEP.search(registers), _TIMER_VECTOR.search(lapic)
    if not asleep or not int(asleep[1], 16) & _IF or not vector:
        return False
    in_service = re.search(rf"^ISR[ \t]+{vector[1]}[ \t]*$", lapic, re.MULTILINE)
    waiting = re.search(rf"^IRR[ \t].*\b{vector[1]}\b", lapic, re.MULTILINE)
    return bool(in_service and waiting)


_EFER = re.compile(r"\bEFER=([0-9a-f]+)")
_SVME = 1 << 12


def on_a_layer(registers: str) -> bool:
    """Return whether a CPU has SVM on: what is under the kernel there hands it its interrupts, and may lose them.

    ``registers`` is the answer to ``info registers -a``.
    """
    return any(int(efer, 16) & _SVME for efer in _EFER.findall(registers))


# On a busy computer a CPU of the emulator can stand still while a partition's kernel measures its
# timer; `shimos run` and `shimos restart` see that, start it again and say so.
_RESTARTED = re.compile(r"(\S+): started again, its kernel did not find its timer")


def restarted(output: str) -> list[str]:
    """Return the partitions that the tool had to start again because of a fault of the emulator."""
    return _RESTARTED.findall(output)


def record(fault: str, what: str, path: Path | None = None) -> None:
    """Count a repeated boot or test, in this run and for good."""
    ledger.note(ledger.Entry("repetition", f"{what}: {fault}"))
    with (path or RECORD).open("a") as file:
        file.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {what}: {fault}\n")


def unclean(log: str) -> list[str]:
    """Return the lines of a kernel log that report a fault."""
    return [line for line in log.splitlines() if _UNCLEAN.search(line) and not _HARMLESS.search(line)]
