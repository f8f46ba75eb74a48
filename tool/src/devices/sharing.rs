//! What one command shares: checked and opened first, then handed to its user, all
//! of it or nothing.

use nix::errno::Errno;

use super::disk::{self, Disk};
use super::node::Node;
use super::served::{self, Served, background};
use super::spec::{Net, Wanted};
use super::{AddDisk, AddNet, Devices, Status, all, ifname, limit, usage};
use crate::error::{Error, Result};
use crate::system::System;
use crate::ui::progress::Progress;
use crate::ui::refusal::{OrRefuse, Refusal};
use crate::ui::{interrupt, output};

/// The kernel that gets the devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    pub number: u32,
    pub name: String,
}

impl User {
    /// Find the kernel of that name in the table that all kernels share.
    pub fn find(name: &str) -> Result<Self> {
        let kernel = shimos_ikc::Device::open()?.find(name)?;
        Ok(User {
            number: kernel.number,
            name: kernel.name,
        })
    }
}

/// What one command shares, all of it opened.
pub struct Sharing {
    devices: Box<dyn Devices>,
    system: System,
    disks: Vec<Disk>,
    nets: Vec<Net>,
    served: Vec<Served>,
}

impl Sharing {
    /// Open everything; `None` if nothing is wanted.
    pub fn open(wanted: &Wanted) -> Result<Option<Self>> {
        if wanted.is_empty() {
            return Ok(None);
        }
        disk::no_doubles(&wanted.disks)?;
        served::no_doubles(&wanted.served)?;
        let node = Box::new(Node::open()?);
        Self::with(node, System::real(), wanted).map(Some)
    }

    /// Check and open all that is wanted; the first problem is the error, and nothing is
    /// shared then.
    pub fn with(devices: Box<dyn Devices>, system: System, wanted: &Wanted) -> Result<Self> {
        if wanted.disks.iter().any(|d| !d.limit.is_none()) {
            limit::check(&system)?;
        }
        for net in &wanted.nets {
            check_net(&system, net)?;
        }
        let shared = all(devices.as_ref()).or_refuse("cannot list the shared devices")?;
        let disks = wanted.disks.iter();
        Ok(Sharing {
            disks: disks
                .map(|spec| Disk::open(&system, spec, &shared))
                .collect::<Result<_>>()?,
            nets: wanted.nets.clone(),
            served: wanted
                .served
                .iter()
                .map(Served::resolved)
                .collect::<Result<_>>()?,
            devices,
            system,
        })
    }

    /// Give all of it to `user`. If one is refused, those before it are taken away
    /// again.
    pub fn add(&self, user: &User, progress: &mut Progress) -> Result<Vec<Status>> {
        self.sweep();
        let mut added = Vec::new();
        match self.add_all(user, progress, &mut added) {
            Ok(()) => Ok(added),
            Err(error) => {
                for status in added.iter().rev() {
                    self.take_back(status.id);
                }
                Err(match error {
                    Error::Interrupted { signal, .. } => Error::Interrupted {
                        signal,
                        undone: Some(format!("nothing is shared with '{}'", user.name)),
                    },
                    other => other,
                })
            }
        }
    }

    /// Ask how they are now.
    pub fn latest(&self, list: Vec<Status>) -> Vec<Status> {
        let now = |old: Status| self.devices.status(old.id).unwrap_or(old);
        list.into_iter().map(now).collect()
    }

    fn add_all(&self, user: &User, progress: &mut Progress, added: &mut Vec<Status>) -> Result<()> {
        for disk in &self.disks {
            interrupt::check()?;
            progress.say(format!("{}: sharing {}", user.name, disk.spec.name()));
            added.push(progress.during(|| self.add_disk(user, disk))?);
        }
        for net in &self.nets {
            interrupt::check()?;
            progress.say(format!("{}: making a network device", user.name));
            added.push(progress.during(|| self.add_net(user, net))?);
        }
        for served in &self.served {
            interrupt::check()?;
            progress.say(format!("{}: starting what serves {served}", user.name));
            added.push(progress.during(|| self.add_served(user, served))?);
        }
        interrupt::check()
    }

    fn add_disk(&self, user: &User, disk: &Disk) -> Result<Status> {
        let name = disk.spec.name();
        let what = format!("cannot share '{name}' with '{}'", user.name);
        let request = AddDisk {
            user: user.number,
            disk: &disk.file,
            read_only: disk.spec.read_only,
            queues: disk.spec.queues,
            name: &disk.kernel_name(),
        };
        let id = self
            .devices
            .add_disk(&request)
            .map_err(|refusal| self.disk_refused(&what, &refusal, disk))?;
        self.finish_disk(user, disk, id).map_err(|error| {
            self.take_back(id);
            error.context(what)
        })
    }

    fn finish_disk(&self, user: &User, disk: &Disk, id: u32) -> Result<Status> {
        let status = self.status(id)?;
        if !disk.spec.limit.is_none() {
            let number = crate::system::Number {
                major: status.major.into(),
                minor: status.minor.into(),
            };
            limit::apply(
                &self.system,
                &user.name,
                id,
                status.queues,
                number,
                disk.spec.limit,
            )?;
        }
        Ok(status)
    }

    fn disk_refused(&self, what: &str, refusal: &Refusal, disk: &Disk) -> Error {
        let error = refusal.error(what);
        if refusal.errno != Errno::EBUSY {
            return error;
        }
        let shared = all(self.devices.as_ref()).unwrap_or_default();
        match usage::of(&self.system, disk.number, &shared) {
            Some(users) => error.hint(users),
            None => error,
        }
    }

    fn add_net(&self, user: &User, net: &Net) -> Result<Status> {
        let default = ifname::default_for(&user.name);
        let request = AddNet {
            user: user.number,
            queues: net.queues,
            ifname: net.name.as_deref().unwrap_or(&default),
            bridge: net.bridge.as_deref(),
            mac: net.mac,
            mtu: net.mtu,
        };
        let what = match &net.bridge {
            Some(bridge) => format!("cannot connect '{}' to {bridge}", user.name),
            None => format!("cannot make a network device for '{}'", user.name),
        };
        let id = self.devices.add_net(&request).or_refuse(&what)?;
        self.status(id).map_err(|error| {
            self.take_back(id);
            error.context(what)
        })
    }

    fn add_served(&self, user: &User, served: &Served) -> Result<Status> {
        let what = format!("cannot share {served} with '{}'", user.name);
        let list = all(self.devices.as_ref()).or_refuse("cannot list the shared devices")?;
        let same = |s: &&Status| s.user == user.number && served::is_there(s.kind, &s.name, served);
        if let Some(other) = list.iter().find(same) {
            return Err(Error::new(format!("{what}: it has one already"))
                .hint(format!("shimos detach {} --id {}", user.name, other.id)));
        }
        let id =
            background::start(user.number, &user.name, served).map_err(|e| e.context(&what))?;
        self.status(id).map_err(|e| e.context(what))
    }

    fn status(&self, id: u32) -> Result<Status> {
        self.devices.status(id).or_refuse("it vanished at once")
    }

    /// Undo. There is an error to report already.
    fn take_back(&self, id: u32) {
        if let Err(refusal) = self.devices.remove(id, true) {
            if refusal.errno != Errno::ENOENT {
                output::error(&refusal.error(format_args!("cannot take device {id} back")));
            }
        }
        self.sweep();
    }

    fn sweep(&self) {
        sweep(&self.system, self.devices.as_ref());
    }
}

/// Remove what limits of devices that are no more have left behind.
pub fn sweep(system: &System, devices: &dyn Devices) {
    if let Ok(list) = all(devices) {
        limit::sweep(system, |id| list.iter().any(|s| s.id == id));
    }
}

/// What can be said about a network without the back end.
fn check_net(system: &System, net: &Net) -> Result<()> {
    if let Some(bridge) = &net.bridge {
        let interface = system.path(format!("sys/class/net/{bridge}"));
        if !interface.exists() {
            return Err(Error::new(format!("there is no bridge '{bridge}'"))
                .hint(format!(
                    "make one: ip link add {bridge} type bridge && ip link set {bridge} up; or give p2p for a device of its own"
                )));
        }
        if !interface.join("bridge").exists() {
            return Err(Error::new(format!("'{bridge}' is no bridge"))
                .hint(format!(
                    "make a bridge with {bridge} in it (ip link set {bridge} master br0), or give p2p for a device of its own"
                )));
        }
    }
    match &net.name {
        Some(name) if system.path(format!("sys/class/net/{name}")).exists() => Err(Error::new(
            format!("there is an interface '{name}' already"),
        )
        .hint("choose another name, or one with %d for a number")),
        _ => Ok(()),
    }
}

/// A sharing of files as if they were block devices, with a back end to look into.
#[cfg(test)]
pub mod tests {
    use super::super::fake::Fake;
    use super::super::spec;
    use super::*;
    use crate::error::tests::{errors, told};
    use crate::system;
    use crate::ui::refusal::Outcome;
    use std::rc::Rc;

    impl Devices for Rc<Fake> {
        fn add_disk(&self, disk: &AddDisk<'_>) -> Outcome<u32> {
            self.as_ref().add_disk(disk)
        }
        fn add_net(&self, net: &AddNet<'_>) -> Outcome<u32> {
            self.as_ref().add_net(net)
        }
        fn remove(&self, id: u32, force: bool) -> Outcome<()> {
            self.as_ref().remove(id, force)
        }
        fn status(&self, id: u32) -> Outcome<Status> {
            self.as_ref().status(id)
        }
        fn next(&self, id: u32) -> Outcome<Option<Status>> {
            self.as_ref().next(id)
        }
    }

    pub fn user() -> User {
        User {
            number: 1,
            name: "web".into(),
        }
    }

    /// Shares vdb, 254:16, and one network.
    pub fn sharing(fake: &Rc<Fake>, system: System, disk: &str) -> Sharing {
        Sharing {
            devices: Box::new(Rc::clone(fake)),
            system,
            disks: vec![Disk {
                spec: spec::disk(disk).unwrap(),
                file: tempfile::tempfile().unwrap(),
                number: system::Number {
                    major: 254,
                    minor: 16,
                },
            }],
            nets: vec![spec::net("p2p").unwrap()],
            served: Vec::new(),
        }
    }

    fn added(fake: &Rc<Fake>, system: System, disk: &str) -> Result<Vec<Status>> {
        sharing(fake, system, disk).add(&user(), &mut Progress::spinner("x"))
    }

    #[test]
    fn all_of_it() {
        let fake = Rc::new(Fake::default());
        let (_work, system) = system::example(&[]);
        let list = added(&fake, system, "/dev/vdb,ro,queues=3").unwrap();
        assert_eq!(list.len(), 2);
        assert!(list[0].read_only);
        assert_eq!((list[0].user, list[0].queues), (1, 3));
        assert_eq!(list[1].name, "shm-web0");
        assert_eq!(fake.ids(), [1, 2]);
        let (_work, system) = system::example(&[]);
        assert_eq!(sharing(&fake, system, "x").latest(list.clone()), list);
    }

    #[test]
    fn or_nothing() {
        let fake = Rc::new(Fake::default());
        *fake.refuse.borrow_mut() = Some(("shm-web0".into(), Errno::ENOSPC, "no!".into()));
        let (_work, system) = system::example(&[]);
        let error = added(&fake, system, "/dev/vdb").unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot make a network device for 'web': no!"
        );
        assert!(fake.ids().is_empty());
    }

    #[test]
    fn a_busy_disk_says_by_whom() {
        let fake = Rc::new(Fake::default());
        *fake.refuse.borrow_mut() = Some(("/dev/vdb".into(), Errno::EBUSY, "claimed".into()));
        let mounts = "29 1 254:17 / /home rw shared:1 - ext4 /dev/vdb1 rw\n";
        let (_work, system) = system::example(&[("proc/self/mountinfo", mounts)]);
        let Error::Failed { message, hint } = added(&fake, system, "/dev/vdb").unwrap_err() else {
            panic!()
        };
        assert_eq!(message, "cannot share '/dev/vdb' with 'web': claimed");
        assert_eq!(hint.unwrap(), "/dev/vdb1 is mounted on /home");
    }

    #[test]
    fn a_limit_that_fails_takes_the_disk_back() {
        let fake = Rc::new(Fake::default());
        let (_work, system) = system::example(&[]);
        let error = added(&fake, system, "/dev/vdb,iops=5").unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("cannot share '/dev/vdb' with 'web': "),
            "{error}"
        );
        assert!(fake.ids().is_empty());
    }

    #[test]
    fn bridges() {
        let (_work, system) = system::example(&[
            ("sys/class/net/br0/bridge/x", ""),
            ("sys/class/net/eth0/mtu", "1500"),
        ]);
        let check = |text: &str| check_net(&system, &spec::net(text).unwrap());
        assert_eq!(check("br0"), Ok(()));
        assert_eq!(check("p2p,name=web%d"), Ok(()));
        let check = |text: &str| check(text).map_err(|error| told(&error));
        let text = errors(&["br1", "eth0", "br0,name=eth0"], check);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn limits_are_checked_early() {
        let (_work, system) = system::example(&[]);
        let wanted = Wanted {
            disks: vec![spec::disk("/dev/vdb,iops=5").unwrap()],
            ..Wanted::default()
        };
        let error = Sharing::with(Box::new(Fake::default()), system, &wanted)
            .err()
            .unwrap();
        assert!(error.to_string().contains("cgroup v2"), "{error}");
        assert!(Sharing::open(&Wanted::default()).unwrap().is_none());
    }
}
