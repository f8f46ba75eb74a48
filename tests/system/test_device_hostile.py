"""A partition that lies about its shared devices: what the owner and all others must survive.

The partition ``web`` has a module in place of the transport (see
tests/modules/hostile_user) and two disks, of which one is attacked; ``db`` is a
partition that behaves, with a disk of its own.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from lab.machine import Machine
from lab.stage.canary import canary, insmod_canary
from lab.stage.devices import WITH_DAEMON, devices, until_unserved
from lab.stage.partitions import Resources, initrd_with, remove, show, start
from tests.support.tiers import REPETITION, rare, rounds
from tests.support.timing import soon

STARTS = (
    *("version", "size", "short", "no_block", "features", "old", "queues", "few_queues"),
    *("state_host", "state_odd", "state_end", "desc_host", "desc_odd", "desc_end", "avail_host"),
    *("avail_odd", "used_host", "used_odd", "ring_odd", "ring_large", "ring_huge", "nowhere"),
)
# What breaks the device, and a word of what the owner says about it.
BREAKING = {
    **dict.fromkeys(("host_to", "host_from", "host_header", "host_status"), "outside"),
    **dict.fromkeys(("edge", "below", "huge", "wrap", "null"), "outside"),
    "host_table": "table outside",
    **dict.fromkeys(("loop", "long"), "too long"),
    "leave": "leaves",
    "nested": "where none may be",
    **dict.fromkeys(("table_odd", "table_empty", "table_next", "table_huge"), "bad indirect"),
    "empty": "empty",
    "backwards": "behind the room",
    "jump": "more available",
    "head": "does not exist",
    **dict.fromkeys(("no_header", "no_status", "long_status", "short_header"), "without header"),
}
# Of these, the ones that make sense for packets.
BREAKING_NET = ("host_to", "edge", "below", "huge", "wrap", "null", "loop", "leave", "empty", "jump", "head")
IOERR, UNSUPPORTED = "1", "2"
FAILING = {
    **dict.fromkeys(("beyond", "far", "around", "unaligned", "odd", "nothing"), (IOERR,)),
    **dict.fromkeys(("discard_beyond", "zero_short", "zero_beyond"), (IOERR, UNSUPPORTED)),
    **dict.fromkeys(("type", "zero_flags"), (UNSUPPORTED,)),
    "read_from": (IOERR,),
}


def prepare(machine: Machine) -> None:
    """Stage: web and db run with their disks, nothing is started yet."""
    # RAM disks keep what was written to them: before memory is counted.
    machine.run("modprobe brd rd_nr=4 rd_size=16384; modprobe shimos_backend")
    machine.run("for n in 0 1 2 3; do head -c 16M /dev/urandom >/dev/ram$n; done; md5sum /dev/ram[123] >/tmp/sums")
    Resources(machine).keep()
    insmod_canary(machine)
    initrd = initrd_with(machine, "6.1", {"/hostile.ko": "shimos_hostile_user.ko"})
    start(machine, "web", cpus="2", memory="384M", more=f"--initrd {initrd}")
    start(machine, "db", cpus="3", memory="384M")
    machine.partition("web").run("rmmod virtio_blk virtio_net shimos_virtio; insmod /hostile.ko")
    for name, disk in (("web", "/dev/ram0"), ("web", "/dev/ram1"), ("db", "/dev/ram2")):
        machine.run(f"shimos attach {name} --disk {disk}")


pytestmark = pytest.mark.machine(stage=prepare)


class Stage:
    """Two partitions with disks, one of them hostile."""

    def __init__(self, machine: Machine):
        self.machine = machine
        if machine.spec.stage is not prepare:
            prepare(machine)
        self.before = Resources.kept(machine)
        self.web, self.db = machine.partition("web"), machine.partition("db")
        self.victim, self.sibling = self.known("/dev/ram0"), self.known("/dev/ram1")
        self.tell(f"victim {canary(self.machine)['address']}")
        self.db.run("until [ -b /dev/vda ]; do sleep 0.1; done")

    def known(self, disk: str) -> int:
        """Return a disk's number once the hostile partition has heard of it."""
        (found,) = [
            d for d in json.loads(self.machine.run("shimos devices --json").output)["devices"] if d["name"] == disk
        ]
        self.web.run(f"until grep -q 'device.{found['id']} ' /proc/hostile; do sleep 0.1; done")
        return int(found["id"])

    def attach(self, name: str, disk: str) -> int:
        """Attach a disk to a partition; returns its number, once a hostile partition has heard of it."""
        (added,) = json.loads(self.machine.run(f"shimos attach {name} --disk {disk} --json 2>/dev/null").output)[
            "devices"
        ]
        if name == "web":
            self.web.run(f"until grep -q 'device.{added['id']} ' /proc/hostile; do sleep 0.1; done")
        return int(added["id"])

    def tell(self, command: str, check: bool = True, timeout: float = 60) -> dict[str, str]:
        """Give the hostile module a command; returns what it says after it."""
        result = self.web.run(f"echo '{command}' >/proc/hostile && cat /proc/hostile", timeout=timeout, check=False)
        assert not check or result.status == 0, f"{command}: {result.output}"
        pairs = [line.split() for line in result.output.splitlines()]
        return {p[0]: p[1] for p in pairs if len(p) == 2} | {"refused": str(result.status)}

    def attack(self, command: str, counter: str, least: int) -> None:
        """Begin an attack that goes on in the background; it has done so much when this returns."""
        before = int(self.counters()[counter])
        self.web.run(f"rm -f /ended; (echo '{command}' >/proc/hostile; echo $? >/ended) </dev/null >/attack 2>&1 &")
        done = f"$(awk '$1 == \"{counter}\" {{print $2}}' /proc/hostile)"
        self.web.run(f"until [ -e /ended ] || [ {done} -gt {before + least} ]; do usleep 20000; done", timeout=120)
        self.assert_under_way()

    def assert_under_way(self) -> None:
        """Check that the attack has not ended."""
        ended = self.web.run("[ ! -e /ended ] || cat /ended /attack").output
        assert not ended, f"the attack is over, with status {ended}"

    def attack_ended(self) -> None:
        """Wait for the end of the attack, which must be a good one."""
        self.web.run("until [ -s /ended ]; do usleep 20000; done", timeout=90)
        ended = self.web.run("cat /ended /attack").output
        assert ended == "0\n", f"the attack has failed, with status {ended}"

    def counters(self) -> dict[str, str]:
        """Return what the hostile module has counted."""
        return dict(line.split() for line in self.web.run("cat /proc/hostile").lines)

    def device(self, number: int) -> dict[str, Any]:
        """Return what the owner says of a device."""
        (found,) = [
            d for d in json.loads(self.machine.run("shimos devices --json").output)["devices"] if d["id"] == number
        ]
        return dict(found)

    def wait_device(self, number: int, state: str) -> None:
        """Wait until the owner says this of a device."""
        is_so = f'any(d["id"] == {number} and d["state"] == "{state}" for d in json.load(sys.stdin)["devices"])'
        test = f"shimos devices --json | python3 -c 'import json, sys; sys.exit(not {is_so})'"
        self.machine.run(f"until {test}; do sleep 0.05; done")

    def start_all(self) -> None:
        """Start both disks, and do good requests on each."""
        for number in (self.victim, self.sibling):
            self.tell(f"start {number}")
            self.tell(f"good {number}")

    def assert_others_work(self) -> None:
        """Check the other disk of the same partition, and everything of the other one."""
        self.tell(f"good {self.sibling}")
        self.db.run("dd if=/dev/vda of=/dev/null bs=64k count=8 iflag=direct 2>/dev/null")
        assert canary(self.machine)["wrong"] == "0"

    def finish(self) -> None:
        """Check that all comes back, nothing was complained about, and what was not attacked is as it was."""
        self.web.close()
        self.db.close()
        for name in ("web", "db"):
            remove(self.machine, name)
        assert canary(self.machine)["wrong"] == "0"
        self.machine.run("rmmod shimos_canary && md5sum --check /tmp/sums")
        self.before.assert_back()
        assert json.loads(self.machine.run("shimos devices --json").output)["devices"] == []
        self.machine.assert_dmesg_clean()


@pytest.fixture
def stage(fresh_machine: Machine) -> Stage:
    made = Stage(fresh_machine)
    made.start_all()
    return made


def test_wrong_starts(stage: Stage) -> None:
    """What START brings is refused, whatever is wrong with it; the next right one is not."""
    victim = stage.victim
    for how in STARTS:
        assert stage.tell(f"start {victim} {how}", check=False)["refused"] != "0", how
        assert stage.device(victim)["state"] != "running", how
    stage.tell(f"start {victim}")
    stage.tell(f"good {victim}")
    stage.assert_others_work()
    stage.finish()


def test_wrong_requests(stage: Stage) -> None:
    """Nonsense in a ring stops that device, with a reason; a wrong request only fails."""
    victim = stage.victim
    for what, words in BREAKING.items():
        said = stage.tell(f"attack {victim} {what}")
        device = stage.device(victim)
        assert device["state"] == "broken" and words in device["problem"], (what, said, device)
        assert said["used"] == "0", (what, said)
        stage.tell(f"good {stage.sibling}")
        assert canary(stage.machine)["wrong"] == "0", what
        stage.tell(f"start {victim}")
    for what, answers in FAILING.items():
        said = stage.tell(f"attack {victim} {what}")
        assert said["used"] == "1" and said["status"] in answers, (what, said)
        assert stage.device(victim)["state"] == "running", what
        stage.tell(f"good {victim}")
    stage.assert_others_work()
    stage.finish()


def test_fuzz(stage: Stage) -> None:
    """Random requests at full speed, rewritten while they are looked at."""
    victim = stage.victim
    said = stage.tell(f"fuzz {victim} {rounds(20, 7)} 1", timeout=120)
    assert int(said["completions"]) > 100 and int(said["restarts"]) > 10
    stage.tell(f"reset {victim}")
    stage.tell(f"start {victim}")
    stage.tell(f"good {victim}")
    stage.assert_others_work()
    stage.finish()


def test_killed_while_fuzzing(stage: Stage) -> None:
    """The user ends in the middle of an attack: what it has asked for ends, too."""
    stage.attack(f"fuzz {stage.victim} 60 2", "completions", 100)
    stage.machine.run("shimos kill web", timeout=60)
    assert show(stage.machine)["cause"] == "killed"
    stage.wait_device(stage.victim, "waiting")
    stage.db.run("dd if=/dev/vda of=/dev/null bs=64k count=8 iflag=direct 2>/dev/null")
    stage.finish()


@pytest.mark.parametrize(
    "kind",
    [
        # requests of no kind, and ids: done at once
        4711,
        pytest.param(8, marks=REPETITION),
        # long reads: the owner is never through
        0,
    ],
)
def test_ring_that_is_never_empty(stage: Stage, kind: int) -> None:
    """It keeps one thread of the owner busy and nothing else: the device can be taken away."""
    idle = stage.attach("web", "/dev/ram3")
    # More than the ring holds: it was filled again while the owner took from it.
    stage.attack(f"endless {stage.victim} 30 {kind}", "completions", 300)
    stage.db.run("dd if=/dev/vda of=/dev/null bs=64k count=8 iflag=direct 2>/dev/null")
    usual, took = (stage.machine.run(f"shimos detach web --id {n} --force").seconds for n in (idle, stage.victim))
    # The attack ends well only if it was still going on when the device was taken away.
    stage.attack_ended()
    stage.assert_others_work()
    stage.finish()
    assert took < soon(2, usual), f"it took {took:.1f} s to stop the device, and {usual:.1f} s for one that is idle"


def test_storms(stage: Stage) -> None:
    """RESET and START without end, and packets that mean nothing; others are heard meanwhile."""
    count = rounds(20000, 7000)
    storm = int(stage.tell(f"storm {stage.victim} {count}", timeout=120)["tries"])
    assert storm == count, f"a storm of {storm}"
    stage.web.run(f"until grep -qx 'unanswered.{stage.victim} 0' /proc/hostile; do usleep 20000; done")
    packets = int(stage.tell(f"packets {count} 3", timeout=120)["tries"]) - storm
    assert packets > count / 2, f"only {packets} packets could be sent"
    stage.start_all()
    stage.assert_others_work()
    stage.attack("packets 4000000000 4", "tries", 1000)
    stage.machine.run("shimos detach db --disk /dev/ram2 --force && shimos attach db --disk /dev/ram2", timeout=30)
    stage.db.run("until [ -b /dev/vda ]; do sleep 0.1; done; dd if=/dev/vda of=/dev/null bs=64k count=8", timeout=30)
    stage.assert_under_way()
    stage.tell("enough")
    stage.attack_ended()
    stage.finish()


@rare("it waits for answers that do not come")
def test_removal_that_is_not_answered(stage: Stage) -> None:
    """The owner waits for a while, then takes the device away."""
    stage.tell("mute 1")
    refused = stage.machine.run(f"shimos detach web --id {stage.victim}", check=False, timeout=60)
    assert refused.status != 0 and "does not answer" in refused.output, refused.output
    stage.tell(f"good {stage.victim}")
    stage.machine.run(f"shimos detach web --id {stage.victim} --force", timeout=60)
    assert stage.tell("mute 1")["removals"] == "2"
    assert stage.tell(f"start {stage.victim}", check=False, timeout=60)["refused"] != "0"
    stage.assert_others_work()
    # It is the host's own again.
    stage.machine.run("dd if=/dev/zero of=/dev/ram0 count=1 2>/dev/null")
    stage.finish()


def test_start_while_it_is_removed(stage: Stage) -> None:
    """A device that is taken away by force is not started again, although its user has not let go of it yet."""
    stage.tell("mute 1")
    stage.machine.run(f"(shimos detach web --id {stage.victim} --force >/tmp/said 2>&1; echo $? >/tmp/ended) & :")
    stage.web.run("until grep -qx 'removals 1' /proc/hostile; do usleep 20000; done")
    refused = stage.tell(f"start {stage.victim}", check=False)["refused"]
    assert refused != "0", "it was started again"
    assert stage.device(stage.victim)["state"] == "leaving"
    stage.machine.run("until grep -qx 0 /tmp/ended; do sleep 0.1; done", timeout=30)
    stage.assert_others_work()
    stage.finish()


def test_network(stage: Stage) -> None:
    """Try wrong starts, wrong requests and random ones on a network device in a bridge, whose packets go on in the user's pages."""
    machine = stage.machine
    machine.run("ip link add br9 type bridge && ip link set br9 up && ip address add 10.9.0.1/24 dev br9")
    (net,) = json.loads(machine.run("shimos attach web --net br9 --json 2>/dev/null").output)["devices"]
    number = net["id"]
    stage.web.run(f"until grep -q 'device.{number} ' /proc/hostile; do sleep 0.1; done")
    for how in STARTS:
        assert stage.tell(f"start {number} {how}", check=False)["refused"] != "0", how
    stage.tell(f"start {number}")
    stage.tell(f"good {number}")
    for what in BREAKING_NET:
        said = stage.tell(f"attack {number} {what}")
        device = stage.device(number)
        assert device["state"] == "broken" and BREAKING[what] in device["problem"], (what, said, device)
        stage.tell(f"start {number}")
    stage.tell(f"good {number}")
    machine.shell(1).run("(ping -f -b -s 1400 10.9.0.255 >/dev/null 2>&1 &) ; true")
    stage.tell(f"fuzz {number} {rounds(15, 5)} 5", timeout=120)
    machine.run("pkill -x ping", check=False)
    stage.tell(f"reset {number}")
    stage.tell(f"start {number}")
    stage.tell(f"good {number}")
    stage.assert_others_work()
    machine.run(f"shimos detach web --id {number} --force && ip link del br9", timeout=60)
    stage.finish()


def served(stage: Stage, option: str) -> int:
    """Give the hostile partition a device that a program serves; returns its number."""
    shown = stage.machine.run(f"{WITH_DAEMON} shimos attach web {option} --json 2>/dev/null").output
    (device,) = json.loads(shown)["devices"]
    stage.web.run(f"until grep -q 'device.{device['id']} ' /proc/hostile; do sleep 0.1; done")
    stage.tell(f"start {device['id']}")
    return int(device["id"])


def test_fuzz_of_programs(stage: Stage) -> None:
    """Wrong starts are refused before a program hears of them; random rings for Linux's vhost_vsock, which bears them, and for virtiofsd, which may be lost: nobody else is."""
    machine = stage.machine
    machine.run("modprobe vhost_vsock && mkdir -p /tmp/shared")
    vsock = served(stage, "--vsock=42")
    for how in STARTS:
        assert stage.tell(f"start {vsock} {how}", check=False)["refused"] != "0", how
    stage.tell(f"start {vsock}")
    said = stage.tell(f"fuzz {vsock} {rounds(20, 5)} 6", timeout=120)
    assert int(said["completions"]) > 100, said
    assert stage.device(vsock)["state"] == "running"
    stage.assert_others_work()
    machine.run(f"shimos detach web --id {vsock} --force")
    directory = served(stage, "--fs /tmp/shared,tag=www")
    stage.tell(f"fuzz {directory} {rounds(20, 5)} 7", check=False, timeout=120)
    stage.assert_others_work()
    found = [d["id"] for d in devices(machine)]
    assert directory in found or "fs www for web: " in machine.dmesg(), found
    assert machine.run("ls -A /tmp/shared").output == ""
    stage.finish()
    until_unserved(machine)
