"""``./demo --rt``: FreeRTOS balances a pendulum on the only core of a stock Linux that is in its way.

The machine's clock counts instructions, so what is seen does not depend on this computer.
"""

from __future__ import annotations

import re

from lab.demo_steps import Steps
from lab.machine import Machine
from lab.progress import say
from lab.stage import rt, traffic
from lab.stage.partitions import PROGRAMS

#: How long the program may be away when it was killed.
_BACK_MS = 50
#: Linux keeps interrupts off for so long, again and again.
_MASK_US = 600_000
_SECONDS = 3


def machine() -> Machine:
    """Return a machine with one CPU and a clock that counts instructions."""
    return Machine(cpus=1, icount=True)


class DemoRt(Steps):
    """The steps."""

    def run(self) -> list[str]:
        """Show all of them; returns what did not hold."""
        self._prepare()
        self._start()
        self._disturb()
        self._without()
        self._kill()
        self._give_back()
        return self.failed

    def _prepare(self) -> None:
        traffic.load(self._machine, "shimos_layer_test")
        self._machine.run(f"ln -s {PROGRAMS}/pendulum_panel {PROGRAMS}/pendulum_linux /usr/local/bin/")
        rt.spin(self._machine)

    def _start(self) -> None:
        say("the host is a stock Debian kernel with one CPU:")
        self.type("uname -r; nproc; shimos doctor | grep 'shared CPUs'")
        say("FreeRTOS shares that CPU, and balances a pendulum at 1 kHz:")
        self.type(rt.rt_command("control", cpu="0"))
        self.type("shimos ls")
        say("a program of Linux's tells it where the cart shall be, and shows what it hears, through shared memory:")
        output = self.type("pendulum_panel ctl 2", check=False)
        self.check("the pendulum stands", "standing after" in output)

    def _in_the_way(self, command: str) -> str:
        """Let Linux compile, and keep interrupts off meanwhile."""
        mask = f"echo mask 0 {_MASK_US} {_SECONDS * 1_000_000 // _MASK_US} >/proc/layer"
        with rt.busy(self._machine, f"{rt.UNTIL_END}; do {rt.COMPILE}; done", mask):
            return self.type(command, check=False, timeout=300)

    def _disturb(self) -> None:
        say(f"now Linux compiles, and keeps interrupts off for {_MASK_US // 1000} ms again and again:")
        output = self._in_the_way(f"pendulum_panel ctl {_SECONDS - 1}")
        self.check("the pendulum stands", "standing after" in output)
        late = [int(us) for us in re.findall(r"at most (\d+) us late", output)]
        self.check("no tick was half a millisecond late", bool(late) and max(late) < 500, f"{max(late, default=0)} us")
        self.type("shimos rt")

    def _without(self) -> None:
        say("without separation, the same pendulum and controller as a program of Linux's, of the highest priority:")
        self.type("shimos stop ctl")
        output = self._in_the_way(f"pendulum_linux 0 {_SECONDS - 1}")
        self.check("it falls", "fallen after" in output)

    def _kill(self) -> None:
        say("again in its partition, and then it is killed:")
        self.type("shimos restart ctl && pendulum_panel ctl 1", check=False)
        output = self.type("shimos kill ctl && shimos restart ctl")
        ready = re.search(r"ready after ([\d.]+) ms", output)
        back = float(ready[1]) if ready else None
        self.check(f"it is back within {_BACK_MS} ms", back is not None and back < _BACK_MS, f"{back} ms")
        output = self.type("pendulum_panel ctl 1", check=False)
        self.check("the pendulum stands", "standing after" in output)

    def _give_back(self) -> None:
        say("ending it: Linux is native again:")
        output = self.type("shimos rm --force ctl; shimos rt; cat /proc/layer")
        self.check("the layer is gone from under the CPU", "under=0" in output)
        self._machine.run("rmmod shimos_layer_test")
        self.check_log()
