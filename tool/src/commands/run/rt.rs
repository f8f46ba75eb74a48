//! What `shimos run` does otherwise for a real-time program.

use crate::cli;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::partition::Kind;
use crate::units::cpulist;

/// Return the one CPU that it shares.
pub fn cpus(args: &cli::Run, file: &Config) -> Result<Vec<u32>> {
    let cpus = match (&args.share_cpus, &file.share_cpus) {
        (Some(list), _) => list.0.clone(),
        (None, Some(text)) => cpulist::parse(text).map_err(Error::new)?,
        (None, None) => Vec::new(),
    };
    if cpus.len() == 1 {
        return Ok(cpus);
    }
    Err(Error::new(format!(
        "a real-time program can share one CPU, not {}",
        cpus.len()
    ))
    .hint(format!(
        "give one: --share-cpus {}",
        cpus.first().unwrap_or(&1)
    )))
}

/// An option or a key, and whether it is there.
type Given<'a> = (&'a str, bool);

/// Refuse what this kind can make no use of, on the command line and in the file.
pub fn check_options(kind: Kind, args: &cli::Run, file: &Config) -> Result<()> {
    let (what, who, hint) = match kind {
        Kind::Linux => (
            for_rt(args, file),
            "a Linux, which has its CPUs for itself",
            "leave it out; or share a CPU with a real-time program by --share-cpus",
        ),
        Kind::Rt => (
            for_linux(args, file),
            "a real-time program",
            "leave it out; or take CPUs for a Linux by --cpus or --cpuset",
        ),
    };
    what.map_or(Ok(()), |what| {
        Err(Error::new(format!("{what} means nothing to {who}")).hint(hint))
    })
}

/// What only a real-time program can make use of.
fn for_rt(args: &cli::Run, file: &Config) -> Option<String> {
    first(
        &[
            ("--budget", args.budget.is_some()),
            ("--priority", args.priority.is_some()),
            ("--protected", args.protected),
            ("--watch", args.watch.is_some()),
            ("--on-change", args.on_change.is_some()),
        ],
        &[
            ("budget", file.budget.is_some()),
            ("priority", file.priority.is_some()),
            ("protected", file.protected == Some(true)),
            ("watch", file.watch.is_some()),
            ("on_change", file.on_change.is_some()),
        ],
        args,
    )
}

/// What only a Linux can make use of.
fn for_linux(args: &cli::Run, file: &Config) -> Option<String> {
    let given = [
        ("--initrd", args.initrd.is_some()),
        ("--cmdline", args.cmdline.is_some()),
        ("--pci", !args.pci.is_empty()),
        ("--disk", !args.share.disks.is_empty()),
        ("--net", !args.share.nets.is_empty()),
        ("--guarded", args.guarded),
        ("--node", args.node.is_some()),
        ("--l3", args.l3.is_some()),
        ("--mb", args.mb.is_some()),
        ("--max-cpus", args.max_cpus.is_some()),
    ];
    let written = [
        ("initrd", file.initrd.is_some()),
        ("cmdline", file.cmdline.is_some()),
        ("pci", !file.pci.is_empty()),
        ("disk", !file.disk.is_empty()),
        ("net", !file.net.is_empty()),
        ("guarded", file.guarded == Some(true)),
        ("node", file.node.is_some()),
        ("l3", file.l3.is_some()),
        ("mb", file.mb.is_some()),
        ("max_cpus", file.max_cpus.is_some()),
    ];
    first(&given, &written, args)
}

/// The first that is there, and where.
fn first(given: &[Given], written: &[Given], args: &cli::Run) -> Option<String> {
    if let Some((option, _)) = given.iter().find(|(_, there)| *there) {
        return Some((*option).into());
    }
    let (key, _) = written.iter().find(|(_, there)| *there)?;
    let path = args.file.as_ref()?;
    Some(format!("{key} in {}", path.display()))
}
