//! What `shimos run` does otherwise for a real-time program.

use crate::cli;
use crate::config::Config;
use crate::cpulist;
use crate::error::{Error, Result};

/// The one CPU that it shares.
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

/// Refuse what only a Linux can make use of, on the command line and in the file.
pub fn check_options(args: &cli::Run, file: &Config) -> Result<()> {
    let given = [
        ("--initrd", args.initrd.is_some()),
        ("--cmdline", args.cmdline.is_some()),
        ("--pci", !args.pci.is_empty()),
        ("--disk", !args.share.disks.is_empty()),
        ("--net", !args.share.nets.is_empty()),
    ];
    let written = [
        ("initrd", file.initrd.is_some()),
        ("cmdline", file.cmdline.is_some()),
        ("pci", file.pci.is_some()),
        ("disks", file.disks.is_some()),
        ("nets", file.nets.is_some()),
    ];
    let first = |list: &[(&str, bool)]| {
        let mut there = list.iter().filter(|(_, there)| *there);
        there.next().map(|(name, _)| (*name).to_owned())
    };
    let what = match (first(&given), &args.file) {
        (Some(option), _) => Some(option),
        (None, Some(path)) => first(&written).map(|key| format!("{key} in {}", path.display())),
        (None, None) => None,
    };
    what.map_or(Ok(()), |what| {
        Err(
            Error::new(format!("{what} means nothing to a real-time program"))
                .hint("leave it out; or take CPUs for a Linux by --cpus"),
        )
    })
}
