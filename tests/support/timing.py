"""How long something may take on a machine that others keep busy."""

from __future__ import annotations

#: How much longer than its control something may take.
_FACTOR = 5


def soon(seconds: float, control: float) -> float:
    """Return the limit, in seconds, for what takes less than ``seconds`` on an idle machine.

    ``control`` are the seconds that something took which is done at the same time on the same
    machine and cannot hang: a busy machine is given as much more as it took for that.
    """
    return max(seconds, _FACTOR * control)
