//! TOML files that keep a partition's settings: `shimos run -f web.toml`.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::{Error, IoContext, Result};
use crate::{cpulist, name, size};

/// All keys are optional in the file; the command line goes first.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub name: Option<String>,
    pub cpus: Option<String>,
    pub memory: Option<String>,
    pub kernel: Option<PathBuf>,
    pub initrd: Option<PathBuf>,
    pub cmdline: Option<String>,
    pub on_reboot: Option<OnReboot>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum OnReboot {
    /// Start it again
    Restart,
    /// Leave it stopped
    Stop,
}

pub fn read(path: &Path) -> Result<Config> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).or_fail(format_args!("cannot read {shown}"))?;
    parse(&text).map_err(|e| e.context(shown))
}

fn parse(text: &str) -> Result<Config> {
    let config: Config = toml::from_str(text).map_err(|e| {
        let line = e
            .span()
            .and_then(|span| text.get(..span.start))
            .map(|before| before.matches('\n').count() + 1);
        let what = e.message().lines().collect::<Vec<_>>().join(" ");
        Error::new(match line {
            Some(line) => format!("line {line}: {what}"),
            None => what,
        })
    })?;
    if let Some(value) = &config.name {
        name::check(value).map_err(|e| Error::new(format!("name = {value:?}: {e}")))?;
    }
    if let Some(value) = &config.cpus {
        cpulist::parse(value).map_err(|e| Error::new(format!("cpus: {e}")))?;
    }
    if let Some(value) = &config.memory {
        size::parse(value).map_err(|e| Error::new(format!("memory: {e}")))?;
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_file() {
        let config = parse(
            "# web\nname = \"web\"\ncpus = \"2-3\"\nmemory = \"1G\"\nkernel = \"/boot/k\"\n\
             initrd = \"/boot/i\"\ncmdline = \"quiet\"\non_reboot = \"restart\"\n",
        )
        .unwrap();
        assert_eq!(config.name.as_deref(), Some("web"));
        assert_eq!(config.on_reboot, Some(OnReboot::Restart));
        assert_eq!(parse("").unwrap(), Config::default());
    }

    #[test]
    fn bad_files() {
        for (text, words) in [
            (
                "cpu = \"2\"",
                &["line 1", "unknown field `cpu`", "`cpus`", "`on_reboot`"][..],
            ),
            ("name = \"web\"\nmemory = 5", &["line 2", "string"]),
            ("name = \"a b\"", &["letters"]),
            ("cpus = \"3-2\"", &["cpus", "backwards"]),
            ("memory = \"1X\"", &["memory", "unit"]),
            ("on_reboot = \"maybe\"", &["maybe", "restart"]),
            ("name = ", &["line 1"]),
        ] {
            let error = parse(text).unwrap_err().to_string();
            for word in words {
                assert!(error.contains(word), "{text}: {error}");
            }
        }
    }
}
