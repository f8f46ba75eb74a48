//! What the administrator allows containers, and what is kept ready for them:
//! `/etc/shimos/oci.toml`.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::bundle::{self, Cpus};
use crate::boot::image;
use crate::config;
use crate::error::{Error, IoContext, Result};
use crate::units::{cpulist, size};

/// Where they are.
pub const FILE: &str = "/etc/shimos/oci.toml";

/// For who writes something else.
const FORMS: &str = "warm partitions are tables: [[warm]] with count = 2";

/// All keys are optional, and so is the file.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The CPUs that containers may have, as a list; else all that the host can spare.
    pub cpuset: Option<String>,
    #[serde(default)]
    pub warm: Vec<Warm>,
}

/// Partitions that wait for containers.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Warm {
    /// How many.
    #[serde(default = "one")]
    pub count: u32,
    /// Of each.
    #[serde(default = "one")]
    pub cpus: u32,
    /// Of each, as a size.
    memory: Option<String>,
    /// A version, or a file; else the host's.
    kernel: Option<String>,
}

fn one() -> u32 {
    1
}

impl Settings {
    /// Read them; the error says where and what is wrong.
    pub fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        match fs::read_to_string(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(Settings::default()),
            text => Self::parse(&text.or_fail(format_args!("cannot read {shown}"))?),
        }
        .map_err(|e| e.context(shown))
    }

    fn parse(text: &str) -> Result<Self> {
        let settings: Settings = config::parsed(text, FORMS)?;
        if let Some(list) = &settings.cpuset {
            cpulist::parse(list).map_err(|e| Error::new(format!("cpuset: {e}")))?;
        }
        for (number, warm) in (1..).zip(&settings.warm) {
            let wrong = |e| Error::new(format!("[[warm]] number {number}: {e}"));
            if warm.cpus == 0 {
                return Err(wrong("cpus: a partition has at least one CPU".into()));
            }
            warm.memory().map_err(|e| wrong(format!("memory: {e}")))?;
        }
        Ok(settings)
    }

    /// Refuse CPUs that containers may not have.
    pub fn check(&self, cpus: &Cpus) -> Result<()> {
        let (Some(allowed), Cpus::These(list)) = (&self.cpuset, cpus) else {
            return Ok(());
        };
        // What is wrong with the list `shimos run` says.
        let Ok(wanted) = cpulist::parse(list) else {
            return Ok(());
        };
        let among = cpulist::parse(allowed).unwrap_or_default();
        match wanted.iter().find(|cpu| !among.contains(cpu)) {
            None => Ok(()),
            Some(cpu) => Err(Error::new(format!(
                "CPU {cpu} is not for containers, which have {allowed}"
            ))
            .hint(format!("cpuset in {FILE} says so"))),
        }
    }
}

impl Warm {
    /// Return the bytes of each.
    pub fn memory(&self) -> Result<u64, String> {
        self.memory
            .as_deref()
            .map_or(Ok(bundle::MEMORY), size::parse)
    }

    /// Return the file of their kernel.
    pub fn kernel(&self) -> Result<PathBuf> {
        match &self.kernel {
            Some(kernel) => Ok(bundle::kernel_file(kernel)),
            None => image::of_host().map_err(|e| e.or_hint("write kernel = FILE")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::tests::{errors, told};

    #[test]
    fn a_whole_file() {
        let settings = Settings::parse(
            "cpuset = \"2-7\"\n[[warm]]\ncount = 3\nmemory = \"1G\"\nkernel = \"6.1\"\n[[warm]]\ncpus = 2\n",
        )
        .unwrap();
        let [first, second] = settings.warm.as_slice() else {
            panic!()
        };
        assert_eq!((first.count, first.cpus), (3, 1));
        assert_eq!(first.memory(), Ok(1 << 30));
        assert_eq!(first.kernel(), Ok("/boot/vmlinuz-6.1".into()));
        assert_eq!((second.count, second.cpus), (1, 2));
        assert_eq!(second.memory(), Ok(bundle::MEMORY));
        assert_eq!(settings.check(&Cpus::These("2,7".into())), Ok(()));
        assert_eq!(settings.check(&Cpus::Count(9)), Ok(()));
        assert_eq!(
            settings
                .check(&Cpus::These("1-2".into()))
                .unwrap_err()
                .to_string(),
            "CPU 1 is not for containers, which have 2-7"
        );
        let none = Settings::read(Path::new("/nonexistent")).unwrap();
        assert_eq!(none, Settings::default());
        assert_eq!(none.check(&Cpus::These("1".into())), Ok(()));
    }

    #[test]
    fn bad_files() {
        let text = errors(
            &[
                "cpuset = \"7-2\"",
                "cpus = 2",
                "[warm]\ncount = 1",
                "[[warm]]\ncpus = 0",
                "[[warm]]\nmemory = \"much\"",
                "[[warm]]\nkernels = \"6.1\"",
                "[[warm]]\ncount = -1",
            ],
            |text| Settings::parse(text).map_err(|e| told(&e)),
        );
        insta::assert_snapshot!(text);
    }
}
