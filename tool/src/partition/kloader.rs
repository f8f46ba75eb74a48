//! The real device: `/dev/shimos`.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::time::Duration;

use nix::errno::Errno;

use crate::abi::{self, Argument as _, TargetCall, text};
use crate::error::{Error, Result, io_text};
use crate::partition::{
    Cause, Change, Conduit, CreateRequest, Description, Device, HostCpu, HostPolicy, Info, KLOADER,
    Kind, Platform, Range, RtCheck, RtLatency, RtStatus, RtVector, RtVectors, State, Status,
};
use crate::ui::refusal::{Outcome, Refusal};
use crate::units::pci_address::Given;

/// KLoader's device.
pub const PATH: &str = "/dev/shimos";

/// KLoader, opened.
pub struct KLoader {
    file: File,
}

impl KLoader {
    /// Open the device, or say what is missing.
    pub fn open() -> Result<Self> {
        match Self::try_open() {
            Ok(device) => Ok(device),
            Err(e) => Err(Self::open_error(&e)),
        }
    }

    /// Open it, with the system's error if that fails.
    pub fn try_open() -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(PATH)?;
        Ok(Self { file })
    }

    fn open_error(error: &io::Error) -> Error {
        if !nix::unistd::geteuid().is_root() {
            return Error::new("only root may use shimos").hint("try: sudo shimos …");
        }
        match error.kind() {
            io::ErrorKind::NotFound => {
                let loaded = Path::new("/sys/module/shimos_kloader").exists();
                let hint = if loaded {
                    "the module is loaded; is udev or devtmpfs running?"
                } else {
                    "try: modprobe shimos_kloader (and `shimos doctor` if that fails)"
                };
                Error::new(format!("there is no {PATH}: KLoader is not loaded")).hint(hint)
            }
            _ => Error::new(format!("cannot open {PATH}: {}", io_text(error)))
                .hint("`shimos doctor` may know more"),
        }
    }

    fn refusal(&self, errno: Errno) -> Refusal {
        let mut argument = abi::ErrorText::new();
        let text = match errno {
            // Nothing was refused.
            Errno::EINTR | Errno::ETIME => String::new(),
            _ => match abi::error_text(&self.file, &mut argument) {
                Ok(()) => text(&argument.text),
                Err(_) => String::new(),
            },
        };
        KLOADER.refusal(errno, text)
    }

    fn resize(&self, id: u32, what: u32, cpu: u32, size: u64) -> Outcome<u64> {
        let mut raw = abi::Resize::new();
        raw.id = id;
        raw.what = what;
        raw.cpu = cpu;
        raw.size = size;
        abi::resize(&self.file, &mut raw).map_err(|e| self.refusal(e))?;
        Ok(raw.size)
    }

    fn target(&self, call: TargetCall, id: u32, flags: u32) -> Outcome<()> {
        abi::target(&self.file, call, id, flags).map_err(|e| self.refusal(e))
    }
}

/// KLoader's arrays have a fixed size, of which so many are filled in.
fn filled<T: Copy>(raw: &[T], count: u32) -> Vec<T> {
    raw.iter().take(count as usize).copied().collect()
}

fn ranges_from(raw: &[abi::Range], count: u32) -> Vec<Range> {
    raw.iter()
        .take(count as usize)
        .map(|r| Range {
            start: r.start,
            size: r.size,
        })
        .collect()
}

fn status_from(raw: &abi::Status) -> Status {
    Status {
        name: text(&raw.name),
        id: raw.id,
        kind: Kind::from_raw(raw.kind),
        state: State::from_raw(raw.state),
        cause: Cause::from_raw(raw.cause),
        message: text(&raw.message),
        cpus: filled(&raw.cpus, raw.cpu_count),
        memory: raw.memory,
        ranges: ranges_from(&raw.ranges, raw.range_count),
        starts: raw.starts,
        agent: raw.agent,
        uptime_ns: raw.uptime_ns,
        boot_ns: raw.boot_ns,
        silent_ns: raw.silent_ns,
        busy_ns: raw.busy_ns,
        host_bytes: raw.host_bytes,
        kernel_bytes: raw.kernel_bytes,
        initrd_bytes: raw.initrd_bytes,
        kernel_version: text(&raw.kernel_version),
        cmdline: text(&raw.cmdline),
        event: raw.event,
        budget_ns: raw.budget_ns,
        period_ns: raw.period_ns,
        priority: raw.priority,
        protected: raw.flags & abi::CREATE_PROTECTED != 0,
        guarded: raw.flags & abi::CREATE_GUARDED != 0,
        faults: raw.faults,
        exits: raw.exits,
        restart_on_reboot: raw.flags & abi::CREATE_RESTART != 0,
        renew: raw.flags & abi::CREATE_RENEW != 0,
        watch: text(&raw.watch),
        watch_rounds: raw.watch_rounds,
        watch_pages: raw.watch_pages,
        watch_found: raw.watch_found,
        watch_nonsense: raw.watch_nonsense,
        more: filled(&raw.more, raw.more_count),
    }
}

fn info_from(raw: &abi::Info) -> Info {
    Info {
        version: raw.hdr.version,
        memory_min: raw.memory_min,
        memory_align: raw.memory_align,
        partitions: raw.partitions,
        host_ok: raw.host_ok == 1,
        stops_cpus: raw.capabilities & abi::CAN_STOP_CPUS != 0,
        needs_description: raw.capabilities & abi::NEEDS_DESCRIPTION != 0,
        host_problem: text(&raw.host_problem),
        rt_ok: raw.rt_ok == 1,
        rt_memory_min: raw.rt_memory_min,
        rt_memory_max: raw.rt_memory_max,
        rt_problem: text(&raw.rt_problem),
        guard_ok: raw.guard_ok == 1,
        guard_problem: text(&raw.guard_problem),
    }
}

fn platform_from(raw: &abi::Platform) -> Outcome<Platform> {
    let range = |start, size| Range { start, size };
    Ok(Platform {
        conduit: match raw.conduit {
            abi::CONDUIT_HVC => Conduit::Hvc,
            abi::CONDUIT_SMC => Conduit::Smc,
            other => {
                return Err(KLOADER.refusal(
                    Errno::EPROTO,
                    format!(
                        "KLoader calls the firmware in a way ({other}) that this tool does not know"
                    ),
                ));
            }
        },
        shared: range(raw.shared, raw.shared_size),
        initrd: (raw.initrd != 0).then(|| range(raw.initrd, raw.initrd_size)),
        distributor: range(raw.distributor, raw.distributor_size),
        redistributors: range(raw.redistributors, raw.redistributors_size),
        timer: raw.timer,
        timer_flags: raw.timer_flags,
        cpus: filled(&raw.cpus, raw.cpu_count),
        memory: ranges_from(&raw.ranges, raw.range_count),
    })
}

fn rt_from(raw: &abi::RtStatus) -> RtStatus {
    RtStatus {
        cpu: raw.cpu,
        ran_ns: raw.ran_ns,
        entered: raw.entered,
        masked: raw.masked,
        exits: raw.exits,
        timers: raw.timers,
        past: raw.past,
        throttled: raw.throttled,
        host_exits: raw.host_exits,
        moves: raw.moves,
        moved_ns: raw.moved_ns,
        moved_max_ns: raw.moved_max_ns,
    }
}

fn rt_latency_from(raw: &abi::RtLatency) -> RtLatency {
    RtLatency {
        cycles_per_second: raw.cycles_per_second,
        count: raw.count,
        min: raw.min,
        max: raw.max,
        sum: raw.sum,
        past: raw.past,
        buckets: raw.buckets.to_vec(),
    }
}

/// Those that there were.
fn rt_vectors_from(raw: &[abi::RtVector]) -> Vec<RtVector> {
    raw.iter()
        .filter(|vector| vector.count > 0)
        .map(|vector| RtVector {
            number: vector.number,
            count: vector.count,
            name: Some(text(&vector.name)).filter(|name| !name.is_empty()),
        })
        .collect()
}

fn fill_name(field: &mut [u8; abi::NAME_LEN], name: &str) -> Outcome<()> {
    match field.get_mut(..name.len()) {
        Some(field) if name.len() < abi::NAME_LEN => {
            field.copy_from_slice(name.as_bytes());
            Ok(())
        }
        _ => Err(KLOADER.refusal(Errno::ENAMETOOLONG, "the name is too long")),
    }
}

/// All but the CPUs.
fn create_from(request: &CreateRequest) -> Outcome<abi::Create> {
    let mut raw = abi::Create::new();
    fill_name(&mut raw.name, &request.name)?;
    fill_name(&mut raw.watch, request.watch.as_deref().unwrap_or_default())?;
    raw.memory = request.memory;
    raw.node = request.node.map_or(0, |node| node.saturating_add(1));
    raw.kind = request.kind.to_raw();
    if request.restart_on_reboot {
        raw.flags |= abi::CREATE_RESTART;
    }
    if request.protected {
        raw.flags |= abi::CREATE_PROTECTED;
    }
    if request.guarded {
        raw.flags |= abi::CREATE_GUARDED;
    }
    if request.renew {
        raw.flags |= abi::CREATE_RENEW;
    }
    if let Some(budget) = request.budget {
        raw.budget_ns = budget.budget_ns;
        raw.period_ns = budget.period_ns;
    }
    raw.priority = request.priority.unwrap_or(0);
    Ok(raw)
}

impl Device for KLoader {
    fn info(&self) -> Outcome<Info> {
        let mut raw = abi::Info::new();
        abi::info(&self.file, &mut raw).map_err(|e| self.refusal(e))?;
        Ok(info_from(&raw))
    }

    fn create(&self, request: &CreateRequest) -> Outcome<u32> {
        let mut raw = create_from(request)?;
        abi::create(&self.file, &mut raw, &request.cpus, &request.more)
            .map_err(|e| self.refusal(e))?;
        Ok(raw.id)
    }

    fn give_pci(&self, id: u32, given: Given) -> Outcome<()> {
        let address = given.address;
        let mut raw = abi::Pci::new();
        raw.id = id;
        raw.segment = address.segment.into();
        raw.bus = address.bus;
        raw.device = address.device;
        raw.function = address.function;
        if given.is_unsafe {
            raw.flags = abi::PCI_UNSAFE;
        }
        abi::pci(&self.file, &raw).map_err(|e| self.refusal(e))
    }

    fn load(&self, id: u32, kernel: &File, initrd: Option<&File>, cmdline: &str) -> Outcome<()> {
        abi::load(&self.file, id, kernel, initrd, cmdline.as_bytes()).map_err(|e| self.refusal(e))
    }

    fn platform(&self, id: u32) -> Outcome<Platform> {
        let mut raw = abi::Platform::new();
        raw.id = id;
        abi::platform(&self.file, &mut raw).map_err(|e| self.refusal(e))?;
        platform_from(&raw)
    }

    fn describe(&self, id: u32, description: &Description) -> Outcome<()> {
        let mut raw = abi::Describe::new();
        raw.id = id;
        raw.seed = description.seed;
        raw.start = description.start;
        raw.entropy = description.entropy;
        abi::describe(&self.file, &mut raw, &description.blob).map_err(|e| self.refusal(e))
    }

    fn start(&self, id: u32, without_agent: bool) -> Outcome<()> {
        let flags = if without_agent {
            abi::START_NO_AGENT
        } else {
            0
        };
        self.target(TargetCall::Start, id, flags)
    }

    fn stop(&self, id: u32) -> Outcome<()> {
        self.target(TargetCall::Stop, id, 0)
    }

    fn kill(&self, id: u32) -> Outcome<()> {
        self.target(TargetCall::Kill, id, 0)
    }

    fn add_cpu(&self, id: u32, cpu: u32) -> Outcome<()> {
        self.resize(id, abi::RESIZE_ADD_CPU, cpu, 0).map(drop)
    }

    fn remove_cpu(&self, id: u32, cpu: u32) -> Outcome<()> {
        self.resize(id, abi::RESIZE_REMOVE_CPU, cpu, 0).map(drop)
    }

    fn add_memory(&self, id: u32, size: u64) -> Outcome<u64> {
        self.resize(id, abi::RESIZE_ADD_MEMORY, 0, size)
    }

    fn remove_memory(&self, id: u32, size: u64) -> Outcome<u64> {
        self.resize(id, abi::RESIZE_REMOVE_MEMORY, 0, size)
    }

    fn destroy(&self, id: u32) -> Outcome<()> {
        self.target(TargetCall::Destroy, id, 0)
    }

    fn status(&self, id: u32) -> Outcome<Status> {
        let mut raw = abi::Status::new();
        raw.id = id;
        abi::status(&self.file, &mut raw).map_err(|e| self.refusal(e))?;
        Ok(status_from(&raw))
    }

    fn next(&self, id: u32) -> Outcome<Option<Status>> {
        let mut raw = abi::Status::new();
        raw.id = id;
        raw.flags = abi::STATUS_NEXT;
        match abi::status(&self.file, &mut raw) {
            Ok(()) => Ok(Some(status_from(&raw))),
            Err(Errno::ENOENT) => Ok(None),
            Err(e) => Err(self.refusal(e)),
        }
    }

    fn wait(&self, id: u32, event: u64, timeout: Duration) -> Outcome<Option<Change>> {
        let mut raw = abi::Wait::new();
        raw.id = id;
        raw.event = event;
        raw.timeout_ms = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
        match abi::wait(&self.file, &mut raw) {
            Ok(()) => Ok(Some(Change {
                event: raw.event,
                state: State::from_raw(raw.state),
                cause: Cause::from_raw(raw.cause),
            })),
            Err(Errno::ETIME | Errno::EINTR) => Ok(None),
            Err(e) => Err(self.refusal(e)),
        }
    }

    fn rt(&self, id: u32) -> Outcome<RtStatus> {
        let mut raw = abi::RtStatus::new();
        raw.id = id;
        abi::rt(&self.file, &mut raw).map_err(|e| self.refusal(e))?;
        Ok(rt_from(&raw))
    }

    fn rt_latency(&self, id: u32) -> Outcome<RtLatency> {
        let mut raw = abi::RtLatency::new();
        raw.id = id;
        abi::rt_latency(&self.file, &mut raw).map_err(|e| self.refusal(e))?;
        Ok(rt_latency_from(&raw))
    }

    fn rt_move(&self, id: u32, cpu: u32) -> Outcome<()> {
        let mut raw = abi::RtMove::new();
        raw.id = id;
        raw.cpu = cpu;
        abi::rt_move(&self.file, &raw).map_err(|e| self.refusal(e))
    }

    fn host_move(&self, cpu: u32, core: u32) -> Outcome<()> {
        let mut raw = abi::HostMove::new();
        raw.cpu = cpu;
        raw.core = core;
        abi::host_move(&self.file, &raw).map_err(|e| self.refusal(e))
    }

    fn host_priority(&self, cpu: u32, priority: u32) -> Outcome<()> {
        let mut raw = abi::HostPriority::new();
        raw.cpu = cpu;
        raw.priority = priority;
        abi::host_priority(&self.file, &raw).map_err(|e| self.refusal(e))
    }

    fn host_policy(&self, to: Option<HostPolicy>) -> Outcome<HostPolicy> {
        let mut raw = abi::HostPolicy::new();
        if let Some(to) = to {
            raw.policy = to as u32;
            raw.flags = abi::HOST_POLICY_SET;
        }
        abi::host_policy(&self.file, &mut raw).map_err(|e| self.refusal(e))?;
        Ok(HostPolicy::of(raw.policy))
    }

    fn host_cpus(&self) -> Outcome<Vec<HostCpu>> {
        let mut raw = abi::HostCpus::new();
        abi::host_cpus(&self.file, &mut raw).map_err(|e| self.refusal(e))?;
        let known = raw.at.iter().take(raw.count as usize);
        Ok(known
            .map(|raw| HostCpu {
                cpu: raw.cpu,
                core: raw.core,
                exits: raw.exits,
                moves: raw.moves,
                moved_ns: raw.moved_ns,
                moved_max_ns: raw.moved_max_ns,
                priority: raw.priority,
                lost: raw.lost != 0,
            })
            .collect())
    }

    fn rt_priority(&self, id: u32, priority: u32) -> Outcome<()> {
        let mut raw = abi::RtPriority::new();
        raw.id = id;
        raw.priority = priority;
        abi::rt_priority(&self.file, &raw).map_err(|e| self.refusal(e))
    }

    fn rt_vectors(&self, id: u32) -> Outcome<RtVectors> {
        let mut raw = abi::RtVectors::new();
        raw.id = id;
        abi::rt_vectors(&self.file, &mut raw).map_err(|e| self.refusal(e))?;
        Ok(RtVectors {
            cpu: raw.cpu,
            host: rt_vectors_from(&raw.host),
            layer: rt_vectors_from(&raw.layer),
            program: rt_vectors_from(&raw.program),
        })
    }

    fn rt_check(&self, id: u32) -> Outcome<RtCheck> {
        let mut raw = abi::RtCheck::new();
        raw.id = id;
        abi::rt_check(&self.file, &mut raw).map_err(|e| self.refusal(e))?;
        Ok(RtCheck {
            pages: raw.pages,
            changed: raw.changed,
            image_changed: raw.image_changed != 0,
            first: raw.first,
        })
    }

    fn console(&self, id: u32) -> Outcome<File> {
        abi::console(&self.file, id).map_err(|e| self.refusal(e))
    }

    fn memory(&self, id: u32) -> Outcome<File> {
        abi::memory(&self.file, id).map_err(|e| self.refusal(e))
    }
}

#[cfg(test)]
mod tests;
