//! The back end for unit tests.

use std::cell::{Cell, RefCell};

use nix::errno::Errno;

use super::{AddDisk, AddNet, BACK_END, Counters, Devices, Kind, Mac, State, Status};
use crate::ui::refusal::Outcome;

#[derive(Default)]
pub struct Fake {
    list: RefCell<Vec<Status>>,
    last: Cell<u32>,
    /// All devices are in use by their users.
    pub busy: Cell<bool>,
    /// The device that is refused, by name, and why.
    pub refuse: RefCell<Option<(String, Errno, String)>>,
}

/// A running disk, 254:16.
pub fn disk(id: u32, user: &str, name: &str) -> Status {
    Status {
        id,
        user: 1,
        user_name: user.into(),
        kind: Kind::Disk,
        name: name.into(),
        state: State::Running,
        problem: String::new(),
        read_only: false,
        queues: 2,
        major: 254,
        minor: 16,
        capacity: 1 << 20,
        mac: Mac::default(),
        mtu: 0,
        features: 0,
        counters: Counters {
            reads: 100,
            read_bytes: 4 << 20,
            writes: 10,
            write_bytes: 40 << 10,
            doorbells_from_user: 60,
            doorbells_to_user: 50,
            doorbells_saved: 5,
            direct_bytes: 4 << 20,
            copied_bytes: 40 << 10,
            ..Counters::default()
        },
    }
}

pub fn net(id: u32, user: &str, name: &str) -> Status {
    Status {
        kind: Kind::Net,
        major: 0,
        minor: 0,
        capacity: 0,
        mac: Mac([0x52, 0x54, 0, 0, 0, 1]),
        mtu: 1500,
        state: State::Offered,
        ..disk(id, user, name)
    }
}

impl Fake {
    pub fn with(list: &[Status]) -> Self {
        let fake = Fake::default();
        fake.last.set(list.last().map_or(0, |s| s.id));
        fake.list.borrow_mut().extend_from_slice(list);
        fake
    }

    pub fn ids(&self) -> Vec<u32> {
        self.list.borrow().iter().map(|s| s.id).collect()
    }

    fn add(&self, mut status: Status) -> Outcome<u32> {
        if let Some((name, errno, text)) = &*self.refuse.borrow() {
            if *name == status.name {
                return Err(BACK_END.refusal(*errno, text.clone()));
            }
        }
        let id = self.last.get() + 1;
        self.last.set(id);
        status.id = id;
        status.state = State::Waiting;
        status.counters = Counters::default();
        self.list.borrow_mut().push(status);
        Ok(id)
    }
}

fn missing<T>() -> Outcome<T> {
    Err(BACK_END.refusal(Errno::ENOENT, ""))
}

impl Devices for Fake {
    fn add_disk(&self, new: &AddDisk<'_>) -> Outcome<u32> {
        self.add(Status {
            user: new.user,
            read_only: new.read_only,
            queues: new.queues.max(1),
            ..disk(0, &format!("kernel{}", new.user), new.name)
        })
    }

    fn add_net(&self, new: &AddNet<'_>) -> Outcome<u32> {
        self.add(Status {
            user: new.user,
            mac: new.mac,
            mtu: new.mtu,
            ..net(
                0,
                &format!("kernel{}", new.user),
                &new.ifname.replace("%d", "0"),
            )
        })
    }

    fn remove(&self, id: u32, force: bool) -> Outcome<()> {
        if self.status(id).is_ok() && self.busy.get() && !force {
            return Err(BACK_END.refusal(Errno::EBUSY, ""));
        }
        let before = self.list.borrow().len();
        self.list.borrow_mut().retain(|s| s.id != id);
        match self.list.borrow().len() < before {
            true => Ok(()),
            false => missing(),
        }
    }

    fn status(&self, id: u32) -> Outcome<Status> {
        let list = self.list.borrow();
        list.iter()
            .find(|s| s.id == id)
            .cloned()
            .map_or_else(missing, Ok)
    }

    fn next(&self, id: u32) -> Outcome<Option<Status>> {
        Ok(self.list.borrow().iter().find(|s| s.id > id).cloned())
    }
}
