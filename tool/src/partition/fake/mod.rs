//! KLoader for unit tests: partitions that exist in memory only.

mod samples;

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::time::Duration;

use nix::errno::Errno;

use crate::partition::{
    Cause, Change, CreateRequest, Description, Device, HostCpu, HostPolicy, Info, KLOADER, Kind,
    Platform, RtCheck, RtLatency, RtStatus, RtVector, RtVectors, State, Status,
};
use crate::ui::refusal::Outcome;
use crate::units::pci_address::Given;
pub use samples::{platform, rt_status, status};

/// How the partitions behave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Manner {
    #[default]
    Obedient,
    Deaf,
    NoAgent,
    PanicsAtStart,
    FaultsAtStart,
    HangsAtStart,
    RefusesStart,
}

#[derive(Default)]
pub struct Fake {
    list: RefCell<Vec<Status>>,
    last: Cell<u32>,
    manner: Cell<Manner>,
    console: RefCell<Option<String>>,
    without_agent: Cell<bool>,
    needs_description: Cell<bool>,
    description: RefCell<Option<Description>>,
    late: RefCell<RtLatency>,
    hosts: RefCell<Vec<HostCpu>>,
    policy: Cell<HostPolicy>,
    next: Cell<Option<State>>,
}

fn refusal<T>(errno: Errno, text: &str) -> Outcome<T> {
    Err(KLOADER.refusal(errno, text))
}

impl Fake {
    /// The layer is under these CPUs, and each is on its own core.
    pub fn layer_under(&self, cpus: &[u32]) {
        *self.hosts.borrow_mut() = cpus
            .iter()
            .map(|&cpu| HostCpu {
                cpu,
                core: cpu,
                exits: 200,
                moves: 0,
                moved_ns: 9_000,
                moved_max_ns: 21_000,
                priority: 0,
                lost: false,
            })
            .collect();
    }

    pub fn with(names: &[&str]) -> Self {
        let fake = Fake::default();
        for (name, id) in names.iter().zip(1..) {
            let mut status = status(name);
            status.id = id;
            fake.list.borrow_mut().push(status);
            fake.last.set(id);
        }
        fake
    }

    /// One more, as `status` says but for its number.
    pub fn add(&self, status: Status) {
        let id = self.last.get() + 1;
        self.last.set(id);
        self.list.borrow_mut().push(Status { id, ..status });
    }

    /// What all consoles have to give.
    pub fn console_text(&self, text: &str) {
        *self.console.borrow_mut() = Some(text.into());
    }

    /// How late all real-time programs are.
    pub fn late(&self, late: RtLatency) {
        *self.late.borrow_mut() = late;
    }

    /// Who waits next finds this state.
    pub fn will_be(&self, state: State) {
        self.next.set(Some(state));
    }

    pub fn manner(&self, manner: Manner) {
        self.manner.set(manner);
    }

    /// It starts nothing without a description.
    pub fn wants_description(&self) {
        self.needs_description.set(true);
    }

    /// The last one that it was given.
    pub fn description(&self) -> Option<Description> {
        self.description.borrow().clone()
    }

    /// Was the last start one that nobody waits for?
    pub fn started_without_agent(&self) -> bool {
        self.without_agent.get()
    }

    pub fn is_empty(&self) -> bool {
        self.list.borrow().is_empty()
    }

    pub fn state(&self, name: &str) -> State {
        let list = self.list.borrow();
        list.iter().find(|s| s.name == name).unwrap().state
    }

    fn change<T>(&self, id: u32, action: impl FnOnce(&mut Status) -> Outcome<T>) -> Outcome<T> {
        let mut list = self.list.borrow_mut();
        match list.iter_mut().find(|s| s.id == id) {
            Some(status) => {
                status.event += 1;
                action(status)
            }
            None => refusal(Errno::ENOENT, ""),
        }
    }
}

impl Device for Fake {
    fn info(&self) -> Outcome<Info> {
        Ok(Info {
            version: 1,
            memory_min: 64 << 20,
            memory_align: 4 << 20,
            partitions: 0,
            host_ok: true,
            stops_cpus: true,
            needs_description: self.needs_description.get(),
            host_problem: String::new(),
            rt_ok: true,
            rt_memory_min: 1 << 20,
            rt_memory_max: 1 << 30,
            rt_problem: String::new(),
            guard_ok: true,
            guard_problem: String::new(),
        })
    }

    fn create(&self, request: &CreateRequest) -> Outcome<u32> {
        let id = self.last.get() + 1;
        self.last.set(id);
        let mut new = match request.kind {
            Kind::Rt => rt_status(&request.name),
            Kind::Linux => status(&request.name),
        };
        new.id = id;
        new.state = State::Created;
        new.starts = 0;
        new.cpus.clone_from(&request.cpus);
        new.more.clone_from(&request.more);
        new.memory = request.memory;
        new.protected = request.protected;
        new.guarded = request.guarded;
        new.renew = request.renew;
        new.watch = request.watch.clone().unwrap_or_default();
        if let Some(budget) = request.budget {
            new.budget_ns = budget.budget_ns;
            new.period_ns = budget.period_ns;
        }
        if let Some(priority) = request.priority {
            new.priority = priority;
        }
        self.list.borrow_mut().push(new);
        Ok(id)
    }

    fn give_pci(&self, id: u32, _: Given) -> Outcome<()> {
        self.change(id, |_| Ok(()))
    }

    fn load(&self, id: u32, _: &File, _: Option<&File>, cmdline: &str) -> Outcome<()> {
        self.change(id, |s| {
            s.state = State::Loaded;
            s.cmdline = cmdline.into();
            Ok(())
        })
    }

    fn platform(&self, id: u32) -> Outcome<Platform> {
        let status = self.status(id)?;
        match self.needs_description.get() {
            true => Ok(platform(&status)),
            false => refusal(Errno::EOPNOTSUPP, "it describes platforms by itself"),
        }
    }

    fn describe(&self, id: u32, description: &Description) -> Outcome<()> {
        self.change(id, |_| {
            *self.description.borrow_mut() = Some(description.clone());
            Ok(())
        })
    }

    fn start(&self, id: u32, without_agent: bool) -> Outcome<()> {
        let manner = self.manner.get();
        self.without_agent.set(without_agent);
        self.change(id, |s| {
            if s.state.active() {
                return refusal(Errno::EBUSY, "it runs");
            }
            if self.needs_description.get() && self.description.borrow().is_none() {
                return refusal(Errno::EINVAL, "it has no platform description");
            }
            s.starts += 1;
            s.cause = Cause::None;
            s.state = match manner {
                Manner::HangsAtStart => State::Starting,
                Manner::RefusesStart => return refusal(Errno::EIO, "no means no"),
                Manner::PanicsAtStart => {
                    s.cause = Cause::Panic;
                    s.message = "Fatal exception".into();
                    State::Crashed
                }
                Manner::FaultsAtStart => {
                    s.cause = Cause::Fault;
                    s.message = "it used port 0x80".into();
                    State::Crashed
                }
                _ => State::Running,
            };
            s.agent = u32::from(!without_agent && s.kind == Kind::Linux);
            Ok(())
        })
    }

    fn stop(&self, id: u32) -> Outcome<()> {
        let manner = self.manner.get();
        self.change(id, |s| match manner {
            Manner::NoAgent => refusal(Errno::ENOTCONN, "no agent"),
            Manner::Deaf => {
                s.state = State::Stopping;
                Ok(())
            }
            _ => {
                s.state = State::Stopped;
                s.cause = Cause::Poweroff;
                Ok(())
            }
        })
    }

    fn kill(&self, id: u32) -> Outcome<()> {
        self.change(id, |s| {
            s.state = State::Stopped;
            s.cause = Cause::Killed;
            Ok(())
        })
    }

    fn add_cpu(&self, id: u32, cpu: u32) -> Outcome<()> {
        let manner = self.manner.get();
        self.change(id, |s| {
            match s.more.contains(&cpu) && manner != Manner::Deaf {
                true => {
                    s.cpus.push(cpu);
                    Ok(())
                }
                false => refusal(Errno::EBUSY, "its kernel refuses"),
            }
        })
    }

    fn remove_cpu(&self, id: u32, cpu: u32) -> Outcome<()> {
        self.change(id, |s| {
            s.cpus.retain(|own| *own != cpu);
            Ok(())
        })
    }

    // Its kernel takes 512 MiB at a time, and no more than 4 GiB.
    fn add_memory(&self, id: u32, size: u64) -> Outcome<u64> {
        let some = size.min(512 << 20);
        self.change(id, |s| match s.memory + some > 4 << 30 {
            true => refusal(Errno::ENOMEM, "the host keeps its memory"),
            false => {
                s.memory += some;
                Ok(())
            }
        })?;
        Ok(some)
    }

    fn remove_memory(&self, id: u32, size: u64) -> Outcome<u64> {
        let some = size.min(512 << 20);
        self.change(id, |s| {
            s.memory -= some;
            Ok(())
        })?;
        Ok(some)
    }

    fn destroy(&self, id: u32) -> Outcome<()> {
        self.change(id, |s| match s.state.active() {
            true => refusal(Errno::EBUSY, "it runs"),
            false => Ok(()),
        })?;
        self.list.borrow_mut().retain(|s| s.id != id);
        Ok(())
    }

    fn status(&self, id: u32) -> Outcome<Status> {
        let list = self.list.borrow();
        match list.iter().find(|s| s.id == id) {
            Some(status) => Ok(status.clone()),
            None => refusal(Errno::ENOENT, ""),
        }
    }

    fn next(&self, id: u32) -> Outcome<Option<Status>> {
        Ok(self.list.borrow().iter().find(|s| s.id > id).cloned())
    }

    fn wait(&self, id: u32, event: u64, timeout: Duration) -> Outcome<Option<Change>> {
        if let Some(state) = self.next.take() {
            self.change(id, |s| {
                s.state = state;
                Ok(())
            })?;
        }
        let now = self.status(id)?;
        if now.event == event {
            std::thread::sleep(timeout.min(Duration::from_millis(5)));
            return Ok(None);
        }
        Ok(Some(Change {
            event: now.event,
            state: now.state,
            cause: now.cause,
        }))
    }

    fn rt(&self, id: u32) -> Outcome<RtStatus> {
        let status = self.status(id)?;
        if status.kind != Kind::Rt {
            return refusal(Errno::EINVAL, "it shares no CPU");
        }
        Ok(RtStatus {
            cpu: status.cpus[0],
            ran_ns: 12_000_000,
            entered: 5,
            masked: 2,
            exits: 40,
            timers: 30,
            past: 1,
            throttled: 3,
            host_exits: 200,
            moves: 2,
            moved_ns: 9_000,
            moved_max_ns: 21_000,
        })
    }

    fn rt_latency(&self, id: u32) -> Outcome<RtLatency> {
        match self.status(id)?.kind {
            Kind::Rt => Ok(self.late.borrow().clone()),
            Kind::Linux => refusal(Errno::EINVAL, "it shares no CPU"),
        }
    }

    fn rt_move(&self, id: u32, cpu: u32) -> Outcome<()> {
        self.change(id, |s| match s.cpus == [cpu] {
            true => refusal(Errno::EINVAL, "it shares that CPU already"),
            false => {
                s.cpus = vec![cpu];
                Ok(())
            }
        })
    }

    fn host_move(&self, cpu: u32, core: u32) -> Outcome<()> {
        let mut hosts = self.hosts.borrow_mut();
        match hosts.iter_mut().find(|h| h.cpu == cpu) {
            None => refusal(Errno::ENODEV, "the layer is not under it"),
            Some(host) => {
                host.core = core;
                host.moves += 1;
                Ok(())
            }
        }
    }

    fn host_priority(&self, cpu: u32, priority: u32) -> Outcome<()> {
        let mut hosts = self.hosts.borrow_mut();
        match hosts.iter_mut().find(|h| h.cpu == cpu) {
            None => refusal(Errno::ENODEV, "no real-time program shares it"),
            Some(host) => {
                host.priority = priority;
                Ok(())
            }
        }
    }

    fn host_policy(&self, to: Option<HostPolicy>) -> Outcome<HostPolicy> {
        if let Some(to) = to {
            self.policy.set(to);
        }
        Ok(self.policy.get())
    }

    fn host_cpus(&self) -> Outcome<Vec<HostCpu>> {
        Ok(self.hosts.borrow().clone())
    }

    fn rt_priority(&self, id: u32, priority: u32) -> Outcome<()> {
        self.change(id, |s| {
            s.priority = priority;
            Ok(())
        })
    }

    fn rt_vectors(&self, id: u32) -> Outcome<RtVectors> {
        let vector = |number, count, name: &str| RtVector {
            number,
            count,
            name: Some(name.to_string()).filter(|name| !name.is_empty()),
        };
        Ok(RtVectors {
            cpu: self.status(id)?.cpus[0],
            host: vec![vector(0x22, 7, ""), vector(0xec, 1200, "LOC")],
            layer: vec![vector(0xf2, 5000, "timer"), vector(0xf1, 6, "bell")],
            program: vec![vector(32, 3800, "timer")],
        })
    }

    fn rt_check(&self, _: u32) -> Outcome<RtCheck> {
        Ok(RtCheck::default())
    }

    fn console(&self, _: u32) -> Outcome<File> {
        use std::io::{Seek, Write};
        let Some(text) = &*self.console.borrow() else {
            return refusal(Errno::EOPNOTSUPP, "");
        };
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.rewind().unwrap();
        Ok(file)
    }

    fn memory(&self, id: u32) -> Outcome<File> {
        let status = self.status(id)?;
        if status.kind != Kind::Rt {
            return refusal(Errno::EOPNOTSUPP, "");
        }
        let file = tempfile::tempfile().unwrap();
        let end = status.ranges.iter().map(|r| r.end()).max();
        file.set_len(end.unwrap_or(0)).unwrap();
        Ok(file)
    }
}
