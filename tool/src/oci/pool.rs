//! Keeping warm partitions ready, as many as the settings say.

use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};

use super::bundle::Cpus;
use super::partition::{self, Nets, Wish};
use super::settings::{Settings, Warm};
use super::share::Share;
use super::slot::{Slot, Slots};
use crate::abi;
use crate::error::{Error, IoContext, Result};
use crate::ui::{interrupt, output};
use crate::units::{cpulist, size};

/// What keeps one from being made may go away without a word: CPUs that others had.
const AGAIN: Duration = Duration::from_secs(10);
/// Making one takes the host's attention, which a container that has just taken one needs more.
const LATER: Duration = Duration::from_secs(3);
/// The longest that a signal goes unseen.
const SLICE: Duration = Duration::from_millis(250);

/// Make what is missing, whenever a container takes one or gives one back, until a signal
/// arrives; those that wait are taken away then.
pub fn keep(root: &Path, settings: &Settings) -> Result<()> {
    let slots = Slots::of(root);
    let _only_here = slots.own()?;
    let changes = Changes::watch(&slots)?;
    let mut complained = String::new();
    while abi::pending_signal().is_none() {
        let filled = fill(&slots, root, settings);
        let missing = filled.is_err();
        let complaint = match &filled {
            Err(e) if abi::pending_signal().is_none() => e.to_string(),
            _ => String::new(),
        };
        if complaint != complained {
            filled.unwrap_or_else(|e| output::error(&e));
            complained = complaint;
        }
        changes.wait(missing.then_some(AGAIN))?;
        // A signal ends the pause, and then the loop.
        let _ = interrupt::pause_until(Instant::now() + LATER);
    }
    empty(&slots)
}

/// Take away all that wait.
pub fn drain(root: &Path) -> Result<()> {
    let slots = Slots::of(root);
    let _only_here = slots.own()?;
    empty(&slots)
}

fn empty(slots: &Slots) -> Result<()> {
    for slot in slots.ready() {
        slots.withdraw(&slot)?;
    }
    slots.clean()
}

fn fill(slots: &Slots, root: &Path, settings: &Settings) -> Result<()> {
    slots.clean()?;
    let mut waiting = slots.ready();
    let mut missing = Vec::new();
    for warm in &settings.warm {
        let kernel = warm.kernel()?;
        let kernel =
            fs::canonicalize(&kernel).or_fail(format_args!("cannot use {}", kernel.display()))?;
        let memory = warm.memory().map_err(Error::new)?;
        for _ in 0..warm.count {
            let as_wanted = |slot: &Slot| {
                slot.memory == memory && slot.fits(&kernel, &Cpus::Count(warm.cpus.into()), memory)
            };
            match waiting.iter().position(as_wanted) {
                Some(place) => drop(waiting.swap_remove(place)),
                None => missing.push((warm, kernel.clone(), memory)),
            }
        }
    }
    // Of other settings.
    for slot in waiting {
        slots.withdraw(&slot)?;
    }
    for (warm, kernel, memory) in missing {
        make(slots, root, settings, warm, kernel, memory)?;
    }
    Ok(())
}

fn make(
    slots: &Slots,
    root: &Path,
    settings: &Settings,
    warm: &Warm,
    kernel: PathBuf,
    memory: u64,
) -> Result<()> {
    let name = slots.begin()?;
    let place = slots.place(&name);
    let made = || {
        let share = Share::of(&place);
        share.make()?;
        let wish = Wish {
            name: &name,
            kernel: &kernel,
            cpus: Cpus::Count(warm.cpus.into()),
            among: settings.cpuset.as_deref(),
            memory,
            view: &share.view,
            nets: Nets::Spare(&name),
        };
        let up = partition::start(&wish, root)?;
        slots.offer(&Slot {
            name: name.clone(),
            kernel: kernel.clone(),
            cpus: up.cpus.clone(),
            memory,
            cid: up.cid,
        })?;
        output::line(format_args!(
            "{name} is ready: {}, {}",
            cpulist::named(&up.cpus),
            size::show(memory)
        ))
    };
    made().inspect_err(|_| {
        if let Err(e) = slots.remove(&name) {
            output::error(&e);
        }
    })
}

/// Hears when containers take warm partitions and give them back.
struct Changes(Inotify);

impl Changes {
    fn watch(slots: &Slots) -> Result<Self> {
        let cannot = "cannot watch the pool";
        let inotify = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK);
        let inotify = inotify.or_fail(cannot)?;
        for (path, what) in [
            (slots.ready_path(), AddWatchFlags::IN_MOVED_FROM),
            (slots.taken_path(), AddWatchFlags::IN_DELETE),
        ] {
            inotify.add_watch(&path, what).or_fail(cannot)?;
        }
        Ok(Changes(inotify))
    }

    /// Wait for a change, a signal, or so long.
    fn wait(&self, longest: Option<Duration>) -> Result<()> {
        let end = longest.map(|longest| Instant::now() + longest);
        let slice = PollTimeout::try_from(SLICE).unwrap_or(PollTimeout::MAX);
        while abi::pending_signal().is_none() && end.is_none_or(|end| Instant::now() < end) {
            let mut polled = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
            match poll(&mut polled, slice) {
                Ok(0) | Err(Errno::EINTR) => {}
                Ok(_) => {
                    let read = self.0.read_events();
                    return read.map(drop).or_fail("cannot watch the pool");
                }
                Err(e) => return Err(e).or_fail("cannot wait for the pool"),
            }
        }
        Ok(())
    }
}
