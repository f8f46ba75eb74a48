//! Where a container's program runs: in a partition of its own, which has waited for it or is
//! started now, or in that of another container.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::bundle::Bundle;
use super::network::Network;
use super::partition::{self, Nets, Wish};
use super::record::Record;
use super::settings::{self, Settings};
use super::share::{self, Share};
use super::slot::Slots;
use super::{NETWORK, guest};
use crate::boot::image;
use crate::error::{Error, Result};
use crate::exec::{Exit, Start, client};
use crate::ui::output;

/// How long the crun in a partition may take for what it does at once.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// What spare interfaces are called, with a number, until their container's network has come.
const LATE: &str = "oci-late%d";

/// Take a warm partition or start one, with the container's network; the record learns which.
/// Returns its share, with all that the container has of the host.
pub fn own(root: &Path, record: &mut Record, bundle: &Bundle) -> Result<Share> {
    let network = Network::of(bundle)?;
    let share = warm_or_cold(root, record, bundle, network.as_ref())?;
    if let Some(network) = network {
        share.add_text(NETWORK, &network.there())?;
        ask(record, &guest::network())?;
        network.connect()?;
    }
    Ok(share)
}

/// Give a container the network that has been set up in its namespace since it was made.
/// It comes by the interface on the host that has waited for it.
pub fn late(root: &Path, record: &Record, spare: &str, namespace: PathBuf) -> Result<()> {
    let network = Network::within(namespace)?;
    if network.is_empty() {
        return Ok(());
    }
    if !network.is_usual() {
        return Err(Error::new(
            "a network that comes after `create` can have one interface, with an MTU of 1500",
        ));
    }
    network.take(spare)?;
    let process = program(record, &record.id)?;
    ask(record, &guest::give_network(process))?;
    share(root, record)?.add_text(NETWORK, &network.there())?;
    ask(record, &guest::network_of(process))?;
    network.connect()
}

fn warm_or_cold(
    root: &Path,
    record: &mut Record,
    bundle: &Bundle,
    network: Option<&Network>,
) -> Result<Share> {
    let settings = Settings::read(Path::new(settings::FILE))?;
    let (cpus, memory) = (bundle.cpus()?, bundle.memory()?);
    settings.check(&cpus)?;
    let kernel = match bundle.kernel() {
        Some(kernel) => kernel,
        None => image::of_host().map_err(|e| e.or_hint("--annotation org.shimos.kernel=FILE"))?,
    };
    let late = bundle.has_late_network();
    let usual = network.is_none_or(Network::is_usual) && share::has_mounts_of_machine();
    let warm = usual.then(|| Slots::of(root).take(&record.id, &kernel, &cpus, memory));
    if let Some(slot) = warm.flatten() {
        record.partition.clone_from(&slot.name);
        record.cid = slot.cid;
        record.spare = late.then(|| slot.name.clone());
        record.save()?;
        let share = Share::of(&Slots::of(root).place(&slot.name));
        share.fill(bundle)?;
        network.map_or(Ok(()), |network| network.take(&slot.name))?;
        return Ok(share);
    }
    let share = Share::of(&record.directory());
    share.make()?;
    share.fill(bundle)?;
    let wish = Wish {
        name: &record.partition,
        kernel: &kernel,
        cpus,
        among: settings.cpuset.as_deref(),
        memory,
        view: &share.view,
        nets: match network {
            Some(network) => Nets::Of(network),
            None if late => Nets::Spare(LATE),
            None => Nets::None,
        },
    };
    let up = partition::start(&wish, root)?;
    record.cid = up.cid;
    record.spare = up.net.filter(|_| late);
    record.save()?;
    Ok(share)
}

/// Share the partition of another container. Returns the part of its share, and the number of
/// that container's program there.
pub fn with(
    root: &Path,
    record: &mut Record,
    leader: &Record,
    bundle: &Bundle,
) -> Result<(Share, i64)> {
    record.leader = Some(leader.id.clone());
    record.partition.clone_from(&leader.partition);
    record.cid = leader.cid;
    record.save()?;
    let there = program(record, &leader.id)?;
    let part = share(root, record)?;
    part.make_member()?;
    part.fill(bundle)?;
    Ok((part, there))
}

/// Return the number there of a container's program.
fn program(record: &Record, id: &str) -> Result<i64> {
    let state = ask(record, &guest::crun(&["state", id]))?;
    let state: Value = serde_json::from_str(&state).unwrap_or_default();
    let there = state["pid"].as_i64().filter(|pid| *pid > 0);
    there.ok_or_else(|| Error::new(format!("container '{id}' does not run any more")))
}

/// Return what a container sees of the host.
fn share(root: &Path, record: &Record) -> Result<Share> {
    let owner = record.leader.as_deref().unwrap_or(&record.id);
    let share = Share::of(&match Slots::of(root).taken_by(owner)? {
        Some(slot) => Slots::of(root).place(&slot.name),
        None => root.join(owner),
    });
    Ok(match record.leader {
        Some(_) => share.of_member(&record.id),
        None => share,
    })
}

/// Take away the container's partition, or its part of another one's.
pub fn leave(root: &Path, record: &Record) -> Result<()> {
    let slots = Slots::of(root);
    if let Some(slot) = slots.taken_by(&record.id)? {
        return slots.give_back(&record.id, &slot);
    }
    if record.leader.is_some() {
        // If nobody answers, it is gone with its partition.
        let delete = guest::crun(&["delete", "--force", &record.id]);
        let _ = client::ask(record.cid, &delete, PATIENCE);
        return share(root, record)?.remove_member();
    }
    partition::remove(&record.partition)?;
    Share::of(&record.directory()).remove()
}

/// Have the partition's crun do something, and return what it said.
pub fn ask(record: &Record, start: &Start) -> Result<String> {
    asked(client::ask(record.cid, start, PATIENCE))
}

/// Have it do something with a file of JSON, which is in the share until it has been read.
pub fn ask_with(
    root: &Path,
    record: &Record,
    name: &str,
    file: &Value,
    start: &Start,
) -> Result<String> {
    let share = share(root, record)?;
    share.add(name, file)?;
    let said = ask(record, start);
    share.remove_file(name)?;
    said
}

/// Return what crun there has said; that is the error, if it has failed.
pub fn asked(result: Result<(Exit, String)>) -> Result<String> {
    let (exit, said) = result?;
    let said = match exit {
        Exit::Code(0) => return Ok(said),
        Exit::NotRun(_, why) => why,
        _ => said,
    };
    let said = output::printable(said.trim().trim_start_matches("crun: "));
    Err(Error::new(if said.is_empty() {
        "crun in the partition has failed".into()
    } else {
        said
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_crun_says() {
        assert_eq!(asked(Ok((Exit::Code(0), "x\n".into()))), Ok("x\n".into()));
        let error = asked(Ok((Exit::Code(1), "crun: no such thing\n".into()))).unwrap_err();
        assert_eq!(error.to_string(), "no such thing");
        let error = asked(Ok((Exit::NotRun(125, "why".into()), String::new()))).unwrap_err();
        assert_eq!(error.to_string(), "why");
        assert!(asked(Ok((Exit::Signal(9), String::new()))).is_err());
    }
}
