//! `shimos cp`: tar on both sides, and `shimos exec` between them.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::cli;
use crate::error::{Error, IoContext, Result};

/// Pack a name of a directory.
const PACK: &str = r#"tar -C "$1" -cf - -- "$2""#;
/// Unpack what was called $2: into a directory $1, or as $1.
const UNPACK: &str = r#"
if [ -d "$1" ]; then
	tar -C "$1" -xf -
else
	made=$(mktemp -d "$(dirname -- "$1")/.shimos-XXXXXX") || exit
	tar -C "$made" -xf - && mv -- "$made/$2" "$1"
	status=$?
	rm -rf -- "$made"
	exit $status
fi"#;

/// Where something is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    partition: Option<String>,
    path: String,
}

impl Place {
    /// A colon before the first slash divides a name from a path.
    fn of(text: &str) -> Self {
        match text.split_once(':') {
            Some((name, path)) if !name.is_empty() && !name.contains('/') => Place {
                partition: Some(name.into()),
                path: path.into(),
            },
            _ => Place {
                partition: None,
                path: text.into(),
            },
        }
    }

    /// Make a shell with a script, there or here.
    fn shell(&self, script: &str, words: [&str; 2]) -> Result<Command> {
        let mut command = match &self.partition {
            None => Command::new("sh"),
            Some(name) => {
                let mut shimos = Command::new(std::env::current_exe().or_fail("cannot start it")?);
                shimos.args(["exec", "--no-tty", name, "--", "sh"]);
                shimos
            }
        };
        command.args(["-c", script, "sh"]).args(words);
        Ok(command)
    }
}

/// Copy a file or a directory.
pub fn run(args: &cli::Cp) -> Result<()> {
    let (from, to) = (Place::of(&args.from), Place::of(&args.to));
    if from.partition.is_some() == to.partition.is_some() {
        return Err(Error::new("one of both must be in a partition")
            .hint("write NAME:PATH for it, and ./PATH for one here that has a colon"));
    }
    let (directory, name) = split(&from.path)?;
    if to.path.is_empty() {
        return Err(
            Error::new("where to copy it is not given").hint("give a path behind the colon")
        );
    }
    let mut pack = from.shell(PACK, [directory, name])?;
    let mut packing = pack
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .or_fail("cannot start sh")?;
    let packed = packing.stdout.take().map_or_else(Stdio::null, Stdio::from);
    let unpacking = to
        .shell(UNPACK, [&to.path, name])?
        .stdin(packed)
        .spawn()
        .or_fail("cannot start sh");
    let unpacked = unpacking.and_then(|child| ended(child, &args.to));
    // One that has nobody to write to ends as well.
    ended(packing, &args.from).and(unpacked)
}

fn ended(mut child: Child, what: &str) -> Result<()> {
    let status = child.wait().or_fail("cannot wait for it")?;
    match status.success() {
        true => Ok(()),
        false => Err(Error::new(format!("'{what}' is not copied: {status}"))),
    }
}

/// Split a path into its directory and its name.
fn split(path: &str) -> Result<(&str, &str)> {
    let path = Path::new(path);
    let name = path.file_name().and_then(|name| name.to_str());
    let directory = path.parent().and_then(Path::to_str);
    match (directory, name) {
        (Some(""), Some(name)) => Ok((".", name)),
        (Some(directory), Some(name)) => Ok((directory, name)),
        _ => Err(
            Error::new(format!("'{}' has no name to copy it by", path.display()))
                .hint("give a file, or a directory by its name"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        let place = |text| {
            let place = Place::of(text);
            (place.partition.unwrap_or_default(), place.path)
        };
        assert_eq!(place("web:/etc"), ("web".into(), "/etc".into()));
        assert_eq!(place("web:a:b"), ("web".into(), "a:b".into()));
        for here in ["/etc", "./a:b", "a", ":a"] {
            assert_eq!(place(here), (String::new(), here.into()));
        }
        assert_eq!(split("/etc/hosts"), Ok(("/etc", "hosts")));
        assert_eq!(split("a/b/"), Ok(("a", "b")));
        assert_eq!(split("a"), Ok((".", "a")));
        for none in ["/", "..", "", "a/.."] {
            assert!(split(none).is_err(), "{none}");
        }
    }

    fn copy(from: &Path, to: &Path) -> bool {
        let (directory, name) = split(from.to_str().unwrap()).unwrap();
        let here = Place::of("");
        let mut packing = here
            .shell(PACK, [directory, name])
            .unwrap()
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let status = here
            .shell(UNPACK, [to.to_str().unwrap(), name])
            .unwrap()
            .stdin(packing.stdout.take().unwrap())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        packing.wait().unwrap().success() && status.success()
    }

    #[test]
    fn into_a_directory_or_as_it() {
        let work = tempfile::tempdir().unwrap();
        let at = |name: &str| work.path().join(name);
        std::fs::create_dir_all(at("-from/deep")).unwrap();
        std::fs::create_dir(at("to")).unwrap();
        std::fs::write(at("-from/deep/file"), "x").unwrap();
        assert!(copy(&at("-from"), &at("to")) && at("to/-from/deep/file").exists());
        assert!(copy(&at("-from"), &at("new")) && at("new/deep/file").exists());
        assert!(copy(&at("-from/deep/file"), &at("to/other")));
        assert_eq!(std::fs::read_to_string(at("to/other")).unwrap(), "x");
        assert!(!copy(&at("nothing"), &at("to/none")));
        assert!(!copy(&at("to"), &at("no/where")));
        let left = std::fs::read_dir(at("to")).unwrap().count();
        assert_eq!(left, 2, "nothing half done");
    }
}
