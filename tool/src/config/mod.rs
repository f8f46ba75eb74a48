//! TOML files that keep a partition's settings: `shimos start web`, `shimos run --file web.toml`.

mod tables;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, de};

use crate::abi;
use crate::devices::served::Served;
use crate::devices::spec;
use crate::error::{Error, IoContext, Result};
use crate::partition::{OnChange, OnReboot};
use crate::units::budget::{self, Budget};
use crate::units::{cpulist, name, pci_address, percent, size};

/// Jaro's measure of keys that one may have been taken for the other, as clap has it for options.
const NEAR: f64 = 0.7;

/// All keys are optional in the file; the command line goes first.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub name: Option<String>,
    #[serde(default, deserialize_with = "cpu_count")]
    pub cpus: Option<u32>,
    pub cpuset: Option<String>,
    /// As for `--max-cpus`.
    pub max_cpus: Option<u32>,
    pub share_cpus: Option<String>,
    /// As for `--budget`.
    pub budget: Option<String>,
    /// As for `--priority`.
    pub priority: Option<u32>,
    pub protected: Option<bool>,
    pub guarded: Option<bool>,
    pub on_change: Option<OnChange>,
    pub watch: Option<String>,
    pub memory: Option<String>,
    /// As for `--node`.
    pub node: Option<u32>,
    /// As for `--l3`.
    #[serde(default, deserialize_with = "share")]
    pub l3: Option<u32>,
    /// As for `--mb`.
    #[serde(default, deserialize_with = "share")]
    pub mb: Option<u32>,
    pub kernel: Option<PathBuf>,
    pub initrd: Option<PathBuf>,
    pub cmdline: Option<String>,
    pub on_reboot: Option<OnReboot>,
    #[serde(default)]
    pub disk: Vec<tables::Disk>,
    #[serde(default)]
    pub net: Vec<tables::Net>,
    #[serde(default)]
    pub pci: Vec<tables::Pci>,
    #[serde(default)]
    pub fs: Vec<tables::Fs>,
    pub vsock: Option<tables::Vsock>,
    #[serde(default)]
    pub vhost_user: Vec<tables::VhostUser>,
}

impl Config {
    /// Return the budget, if the file has one that makes sense.
    pub fn budget(&self) -> Result<Option<Budget>> {
        let budget = self.budget.as_deref().map(budget::parse).transpose();
        budget.map_err(Error::new)
    }

    /// Return the priority, if the file has one within the limits.
    pub fn priority(&self) -> Result<Option<u32>> {
        match self.priority {
            Some(n) if !(abi::RT_MIN_PRIORITY..=abi::RT_MAX_PRIORITY).contains(&n) => {
                Err(Error::new(format!(
                    "priority {n}: a real-time program has one of {} to {}",
                    abi::RT_MIN_PRIORITY,
                    abi::RT_MAX_PRIORITY
                )))
            }
            other => Ok(other),
        }
    }

    /// Return the disks; an error names the one that is wrong.
    pub fn disks(&self) -> Result<Vec<spec::Disk>> {
        specs("disk", &self.disk, tables::Disk::spec)
    }

    /// Return the network devices; an error names the one that is wrong.
    pub fn nets(&self) -> Result<Vec<spec::Net>> {
        specs("net", &self.net, tables::Net::spec)
    }

    /// Return the directories; an error names the one that is wrong.
    pub fn fs(&self) -> Result<Vec<Served>> {
        specs("fs", &self.fs, tables::Fs::spec)
    }

    /// Return the device for sockets, if there is to be one.
    pub fn vsock(&self) -> Result<Option<Served>> {
        let spec = self.vsock.as_ref().map(tables::Vsock::spec).transpose();
        spec.map(Option::flatten)
            .map_err(|e| Error::new(format!("vsock: {e}")))
    }

    /// Return the daemons' devices; an error names the one that is wrong.
    pub fn vhost_user(&self) -> Result<Vec<Served>> {
        specs("vhost_user", &self.vhost_user, tables::VhostUser::spec)
    }

    /// Return the PCI devices; an error names the one that is wrong.
    pub fn pci(&self) -> Result<Vec<pci_address::Given>> {
        specs("pci", &self.pci, tables::Pci::spec)
    }
}

fn specs<T, S>(key: &str, tables: &[T], spec: impl Fn(&T) -> Result<S, String>) -> Result<Vec<S>> {
    let spec = |(number, table)| {
        spec(table).map_err(|e| Error::new(format!("[[{key}]] number {number}: {e}")))
    };
    (1..).zip(tables).map(spec).collect()
}

/// `cpus` was a list once, which has a key of its own.
fn cpu_count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Value {
        Count(i64),
        List(String),
        Other(de::IgnoredAny),
    }
    match Value::deserialize(deserializer)? {
        Value::Count(n) => match u32::try_from(n) {
            Ok(n) if n > 0 => Ok(Some(n)),
            _ => Err(de::Error::custom("cpus: a partition has at least one CPU")),
        },
        Value::List(text) => Err(de::Error::custom(format!(
            "cpus is how many, cpus = 2: a list of CPUs is written cpuset = {text:?}"
        ))),
        Value::Other(_) => Err(de::Error::custom("cpus is how many: cpus = 2")),
    }
}

/// `"50%"`
fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let text = String::deserialize(deserializer)?;
    percent::parse(&text).map(Some).map_err(de::Error::custom)
}

/// Read a file; the error says where and what is wrong.
pub fn read(path: &Path) -> Result<Config> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).or_fail(format_args!("cannot read {shown}"))?;
    parse(&text).map_err(|e| e.context(shown))
}

/// Read a file's text; the error says in which line something is wrong. `forms` is for who writes
/// no table where there is to be one.
pub fn parsed<T: de::DeserializeOwned>(text: &str, forms: &str) -> Result<T> {
    toml::from_str(text).map_err(|e| {
        let line = e
            .span()
            .and_then(|span| text.get(..span.start))
            .map(|before| before.matches('\n').count() + 1);
        let what = in_our_words(e.message(), forms);
        Error::new(match line {
            Some(line) => format!("line {line}: {what}"),
            None => what,
        })
    })
}

fn parse(text: &str) -> Result<Config> {
    let config: Config = parsed(text, tables::FORMS)?;
    if let Some(value) = &config.name {
        name::check(value).map_err(|e| Error::new(format!("name = {value:?}: {e}")))?;
    }
    if let Some(value) = &config.watch {
        name::check(value).map_err(|e| Error::new(format!("watch = {value:?}: {e}")))?;
    }
    if let Some(value) = &config.cpuset {
        cpulist::parse(value).map_err(|e| Error::new(format!("cpuset: {e}")))?;
    }
    if let Some(value) = &config.share_cpus {
        cpulist::parse(value).map_err(|e| Error::new(format!("share_cpus: {e}")))?;
    }
    let cpus = [
        config.cpus.is_some(),
        config.cpuset.is_some(),
        config.share_cpus.is_some(),
    ];
    if cpus.iter().filter(|there| **there).count() > 1 {
        return Err(Error::new(
            "cpus is how many CPUs to take, cpuset which ones, share_cpus the one to share with a real-time program",
        )
        .hint("write one of them"));
    }
    config.budget()?;
    config.priority()?;
    if let Some(value) = &config.memory {
        size::parse(value).map_err(|e| Error::new(format!("memory: {e}")))?;
    }
    config.disks()?;
    config.nets()?;
    config.pci()?;
    config.fs()?;
    config.vsock()?;
    config.vhost_user()?;
    Ok(config)
}

/// What the parser says, but for keys and forms that it does not know.
fn in_our_words(message: &str, forms: &str) -> String {
    // unknown field `cpu`, expected one of `name`, `cpus`
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match quoted.as_slice() {
        ["disks" | "nets", ..] => forms.into(),
        _ if message.ends_with("enum Vsock") => "vsock is true, or an address: vsock = 42".into(),
        [unknown, known @ ..] if message.starts_with("unknown field") => {
            let near = |key: &&&str| strsim::jaro(unknown, key);
            let nearest = known.iter().max_by(|a, b| near(a).total_cmp(&near(b)));
            match nearest.filter(|key| near(key) > NEAR) {
                Some(key) => format!("there is no key '{unknown}': did you mean '{key}'?"),
                None => format!("there is no key '{unknown}', only {}", known.join(", ")),
            }
        }
        _ if message.contains("expected struct") || message.contains("expected a sequence") => {
            forms.into()
        }
        _ if message.ends_with("expected u32") => "that is no number from 0 on".into(),
        _ => message.lines().collect::<Vec<_>>().join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::tests::{errors, told};

    #[test]
    fn a_whole_file() {
        let config = parse(
            "# web\nname = \"web\"\ncpuset = \"2-3\"\nmemory = \"1G\"\nkernel = \"/boot/k\"\n\
             initrd = \"/boot/i\"\ncmdline = \"quiet\"\non_reboot = \"restart\"\n\
             [[disk]]\npath = \"/dev/vdb\"\n[[disk]]\npath = \"root.img\"\nro = true\n\
             [[net]]\nbridge = \"br0\"\n[[pci]]\naddress = \"01:00.0\"\n",
        )
        .unwrap();
        assert_eq!(config.name.as_deref(), Some("web"));
        assert_eq!(config.on_reboot, Some(OnReboot::Restart));
        assert!(config.disks().unwrap()[1].read_only);
        assert_eq!(config.nets().unwrap().len(), 1);
        assert_eq!(
            config.pci(),
            Ok(vec![pci_address::given("01:00.0").unwrap()])
        );
        assert_eq!(parse("").unwrap(), Config::default());
        assert!(Config::default().disks().unwrap().is_empty());
    }

    const DOCUMENT: &str = include_str!("../../../docs/configuration.md");

    #[test]
    fn the_documents_example() {
        let (_, example) = DOCUMENT.split_once("```toml\n").unwrap();
        let config = parse(example.split("```").next().unwrap()).unwrap();
        assert_eq!((config.cpus, config.disk.len()), (Some(2), 1));
    }

    #[test]
    fn the_document_has_all_keys() {
        for text in [
            "zzzz = 1",
            "[[disk]]\nzzzz = 1",
            "[[net]]\nzzzz = 1",
            "[[pci]]\nzzzz = 1",
            "[[fs]]\nzzzz = 1",
            "[[vhost_user]]\nzzzz = 1",
        ] {
            let error = parse(text).unwrap_err().to_string();
            let (_, keys) = error.split_once("only ").unwrap();
            for key in keys.split(", ") {
                let named = DOCUMENT.contains(&format!("`{key}`"));
                assert!(named || DOCUMENT.contains(&format!("`[[{key}]]`")), "{key}");
            }
        }
    }

    #[test]
    fn bad_files() {
        let text = errors(
            &[
                "cpu = \"2\"",
                "colour = \"red\"",
                "on-reboot = \"stop\"",
                "[[disk]]\npath = \"a\"\nread = true\nsiez = \"1M\"",
                "[[disk]]\npath = \"a\"\nsiez = \"1M\"",
                "[[net]]\nbrige = \"a\"",
                "[[disk]]\nro = true",
                "name = \"web\"\nmemory = 5",
                "name = \"a b\"",
                "cpuset = \"3-2\"",
                "memory = \"1G\"\ncpus = \"2-3\"",
                "cpus = 0",
                "cpus = -1",
                "cpus = [2, 3]",
                "share_cpus = \"3-2\"",
                "cpuset = \"2\"\nshare_cpus = \"1\"",
                "cpus = 1\ncpuset = \"2\"",
                "budget = \"40\"",
                "budget = \"96%\"",
                "budget = 40",
                "priority = 0",
                "priority = 100",
                "priority = \"5\"",
                "protected = 1",
                "watch = \"\"",
                "watch = \"a/b\"",
                "on_change = \"maybe\"",
                "memory = \"1X\"",
                "l3 = \"half\"",
                "mb = 30",
                "\ndisks = [\"a,ro\"]",
                "nets = [\"br0\"]",
                "pci = [\"01:00.0\"]",
                "disk = \"a\"",
                "[disk]\npath = \"a\"",
                "[[net]]\nqueues = 1",
                "on_reboot = \"maybe\"",
                "[[pci]]\naddress = \"eth0\"",
                "[[fs]]\npath = \"/a\"",
                "[[vhost_user]]\nsocket = \"/a\"\ntype = \"net\"",
                "vsock = 2",
                "vsock = \"any\"",
                "name = ",
            ],
            |text| parse(text).map_err(|e| told(&e)),
        );
        insta::assert_snapshot!(text);
    }
}
