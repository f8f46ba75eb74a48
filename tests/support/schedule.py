"""Which tests run, and in what order: those that share a machine together, the longest first, late ones last."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadGroupScheduling
from xdist.workermanage import WorkerController

from lab import tier
from lab.paths import CACHE
from tests.support import tiers

#: Seconds that each test took the last time, by its id.
DURATIONS = CACHE / "durations.json"
#: What is assumed of a test that never ran: long, so that it is not the last one.
_UNKNOWN = 120.0
#: What the names of groups of late tests begin with: the scheduler sees names only.
_LATE = "late "

_taken: dict[str, float] = defaultdict(float)


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item], config: pytest.Config) -> None:
    """Leave out repetitions, name the machine that tests share, and let soak tests run as long as they like."""
    if not tiers.everything():
        # Who names one wants it.
        left_out = [i for i in items if i.get_closest_marker("repetition") and i.nodeid not in config.args]
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)
    for item in items:
        if name := group(item):
            item.add_marker(pytest.mark.xdist_group(name))
        # One of these takes as long as it is told, or hours; whoever named it is watching.
        if item.path.parent.name == "soak":
            item.add_marker(pytest.mark.timeout(0))


def group(item: pytest.Item) -> str:
    """Return the name of those that run together: a late test's own, or the machine that it shares; "": none.

    A machine is named by its file, and which of the machines of that file it is.
    """
    late = _LATE if item.get_closest_marker("late") else ""
    if "module_machine" not in getattr(item, "fixturenames", ()):
        return f"{late}{item.path.name} {item.name}" if late else ""
    call = getattr(item, "callspec", None)
    number = call.indices.get("make_machine", 0) if call else 0
    return f"{late}{item.path.name}-{number}"


@pytest.hookimpl(tryfirst=True)  # before its machine is made
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out what can wait, when there is no time any more."""
    if item.get_closest_marker("late") and tier.time_is_up():
        pytest.skip(tiers.NO_TIME)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up what a test takes, its machines included."""
    # The name of the group is no part of its name.
    _taken[report.nodeid.rsplit("@", 1)[0]] += report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Keep the durations for the next run."""
    if _taken and not hasattr(session.config, "workerinput"):
        new = DURATIONS.with_suffix(".new")
        new.write_text(json.dumps(known() | _taken, indent=0, sort_keys=True))
        new.rename(DURATIONS)


def known() -> dict[str, float]:
    """Return the durations of earlier runs."""
    try:
        found: dict[str, float] = json.loads(DURATIONS.read_text())
    except (OSError, ValueError):
        return {}
    return found


class LongestFirst(LoadGroupScheduling):  # type: ignore[misc] # xdist has no types
    """Whoever has nothing to do gets the group that takes longest, of those that are not late."""

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        self._known = known()

    def _seconds(self, scope: str) -> float:
        tests: dict[str, bool] = self.workqueue[scope]
        return sum(self._known.get(test.rsplit("@", 1)[0], _UNKNOWN) for test in tests)

    def _rank(self, scope: str) -> tuple[bool, float]:
        return not scope.startswith(_LATE), self._seconds(scope)

    def _assign_work_unit(self, node: WorkerController) -> None:
        self.workqueue.move_to_end(max(self.workqueue, key=self._rank), last=False)
        super()._assign_work_unit(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Any:
    """Have xdist use it."""
    return LongestFirst(config, log)
