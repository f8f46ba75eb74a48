//! Which rung is being climbed, on disk before it is: a machine that goes down leaves it there.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::cli::Rung;
use crate::error::{Error, IoContext, Result};
use crate::system::durable;

/// How far the last one came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// By its name, for the file outlives the tool.
    pub rung: String,
    /// The kernel's id of its boot.
    pub boot: String,
    pub state: State,
}

/// What became of the rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Whoever reads this of an earlier one knows that nobody came back from it.
    Climbing,
    Passed,
    Failed,
}

/// The file that has it.
pub struct Book {
    path: PathBuf,
}

impl Book {
    /// Make the directory if it is not there.
    pub fn open(directory: &Path) -> Result<Self> {
        fs::create_dir_all(directory)
            .or_fail(format_args!("cannot create {}", directory.display()))?;
        Ok(Book {
            path: directory.join("rung.json"),
        })
    }

    /// Return what the last one has left; `None`: there was none.
    pub fn read(&self) -> Result<Option<Record>> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e).or_fail(format_args!("cannot read {}", self.path.display())),
        };
        serde_json::from_str(&text).map(Some).map_err(|e| {
            Error::new(format!("{} is damaged: {e}", self.path.display()))
                .hint("remove it; what was tried is in the report beside it")
        })
    }

    /// Write it so that it is on the disk when this returns.
    pub fn write(&self, rung: Rung, boot: &str, state: State) -> Result<()> {
        let record = Record {
            rung: super::name(rung),
            boot: boot.into(),
            state,
        };
        let text = serde_json::to_string(&record)
            .map_err(|e| Error::new(format!("cannot write {}: {e}", self.path.display())))?;
        durable::replace(&self.path, text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let work = tempfile::tempdir().unwrap();
        let book = Book::open(&work.path().join("a/b")).unwrap();
        assert_eq!(book.read(), Ok(None));
        book.write(Rung::Parking, "x-y", State::Climbing).unwrap();
        let record = book.read().unwrap().unwrap();
        assert_eq!(record.rung, "parking");
        assert_eq!(record.boot, "x-y");
        assert_eq!(record.state, State::Climbing);
        book.write(Rung::Kernel, "x-y", State::Failed).unwrap();
        assert_eq!(book.read().unwrap().unwrap().state, State::Failed);
    }

    #[test]
    fn a_damaged_one_is_named() {
        let work = tempfile::tempdir().unwrap();
        let book = Book::open(work.path()).unwrap();
        fs::write(&book.path, "{").unwrap();
        let error = book.read().unwrap_err().to_string();
        assert!(error.contains("rung.json is damaged"), "{error}");
    }
}
