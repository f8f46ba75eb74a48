//! `shimos bench`: the comparison of the source tree, on this machine.

use std::env;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cli;
use crate::error::{Error, IoContext, Result};
use crate::ui::output::shown;

/// What is run, in the tree.
const SCRIPT: &str = "bench/run";

/// Become `bench/run` of the source tree; returns only if that failed.
pub fn run(args: &cli::Bench) -> Result<()> {
    let here = env::current_dir().or_fail("cannot tell the current directory")?;
    let script = find(args.source.as_deref(), &here)?;
    let error = Command::new(&script).arg("--here").args(&args.more).exec();
    Err(error).or_fail(format_args!("cannot run {}", shown(&script)))
}

/// In `source`, or in the source tree around `here`.
fn find(source: Option<&Path>, here: &Path) -> Result<PathBuf> {
    let script = match source {
        Some(tree) => Some(here.join(tree).join(SCRIPT)).filter(|file| file.is_file()),
        None => here
            .ancestors()
            .map(|tree| tree.join(SCRIPT))
            .find(|file| file.is_file() && is_ours(file)),
    };
    script.ok_or_else(|| {
        let place = source.map_or("here, nor above".into(), |tree| {
            format!("in {}", shown(tree))
        });
        Error::new(format!(
            "there is no source tree of SHIMOS {place}: the comparison is not part of the packages"
        ))
        .hint("clone the project, and run this inside it or with --source DIR")
    })
}

/// Other projects have a bench/run, too.
fn is_ours(script: &Path) -> bool {
    let tree = script.parent().and_then(Path::parent);
    tree.is_some_and(|tree| tree.join("kernel/kloader").is_dir())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn tree(ours: bool) -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        fs::create_dir_all(tree.path().join("bench")).unwrap();
        fs::write(tree.path().join(SCRIPT), "#!/bin/sh\n").unwrap();
        fs::create_dir_all(tree.path().join("docs/more")).unwrap();
        if ours {
            fs::create_dir_all(tree.path().join("kernel/kloader")).unwrap();
        }
        tree
    }

    #[test]
    fn found_from_anywhere_inside() {
        let tree = tree(true);
        let script = tree.path().join(SCRIPT);
        for place in ["", "bench", "docs/more"] {
            assert_eq!(find(None, &tree.path().join(place)).unwrap(), script);
        }
        assert_eq!(find(Some(tree.path()), Path::new("/")).unwrap(), script);
    }

    #[test]
    fn another_projects_is_not_run() {
        let tree = tree(false);
        let error = find(None, tree.path()).unwrap_err();
        assert!(error.to_string().contains("no source tree"), "{error}");
    }

    #[test]
    fn a_wrong_source_is_named() {
        let error = find(Some(Path::new("nowhere")), Path::new("/")).unwrap_err();
        assert!(error.to_string().contains("in nowhere"), "{error}");
    }
}
