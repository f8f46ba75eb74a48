"""Whether KVM can be used here: asked once, by booting a stock kernel."""

from __future__ import annotations

import json
import os
import tempfile
import time
from pathlib import Path

from lab import cache, progress
from lab.devices import Place
from lab.kernels import Kernel
from lab.paths import CACHE
from lab.qemu import Config, Emulator

#: Time limit for the probe.
_PROBE_SECONDS = 20.0


def computer_boot() -> str:
    """Return an id of this computer's present boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def accelerator(kernel: Kernel, initrd: Path) -> str:
    """Return ``kvm`` if it really boots this stock kernel here, else ``tcg``.

    A /dev/kvm that opens proves little: it may be nested in a way in which no
    stock kernel comes up.  The answer is kept until this machine boots anew.
    """
    forced = os.environ.get("SHIMOS_ACCEL")
    if forced:
        return forced
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg"
    boot_id = computer_boot()
    file = CACHE / "accelerator.json"
    with cache.lock("accelerator"):
        try:
            known = json.loads(file.read_text())
            if known["boot_id"] == boot_id:
                return str(known["accel"])
        except (OSError, ValueError, KeyError):
            pass
        with progress.step("probing whether KVM can boot a stock kernel here"):
            accel = "kvm" if _kvm_boots(kernel, initrd) else "tcg"
        progress.say(f"  it {'can' if accel == 'kvm' else 'cannot: using emulation (TCG)'}")
        new = file.with_suffix(".new")
        new.write_text(json.dumps({"boot_id": boot_id, "accel": accel}))
        new.rename(file)
    return accel


def _kvm_boots(kernel: Kernel, initrd: Path) -> bool:
    with tempfile.TemporaryDirectory(prefix="probe-") as directory:
        config = Config(
            kernel.image, initrd, kernel.arch.boot_words, shells=0, accel="kvm", memory="1G", arch=kernel.arch
        )
        emulator = Emulator(config, Place("cold", Path(directory), Path(directory)))
        try:
            deadline = time.monotonic() + _PROBE_SECONDS
            while emulator.alive() and time.monotonic() < deadline:
                if "lab-init: " in emulator.console():
                    return True
                time.sleep(0.1)
            return False
        finally:
            emulator.stop()
