//! What a module of ours refuses, and the error that becomes of it.

use std::fmt;

use nix::errno::Errno;

use super::interrupt;
use crate::error::{Error, Result};

/// A kernel module that refuses calls.
#[derive(Debug)]
pub struct Module {
    pub name: &'static str,
    /// What an error number means that came without a text; `None`: what it always does.
    pub words: fn(Errno) -> Option<&'static str>,
}

impl PartialEq for Module {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Module {}

impl Module {
    /// Make a refusal by this module; `text` is its own, or empty.
    pub fn refusal(&'static self, errno: Errno, text: impl Into<String>) -> Refusal {
        Refusal {
            module: self,
            errno,
            text: text.into(),
        }
    }
}

/// A call that a module refused: the error number and the module's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    module: &'static Module,
    pub errno: Errno,
    pub text: String,
}

/// What a call to a module returns.
pub type Outcome<T> = std::result::Result<T, Refusal>;

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.errno {
            _ if !self.text.is_empty() => f.write_str(&self.text),
            Errno::EPROTO | Errno::ENOTTY => write!(
                f,
                "the shimos tool and the {} module do not fit each other",
                self.module.name
            ),
            errno => f.write_str((self.module.words)(errno).unwrap_or(errno.desc())),
        }
    }
}

impl Refusal {
    /// Make an error of it. `what`: the sentence's beginning, "cannot start 'web'". A call that
    /// a signal ended was not refused: the error is the signal.
    pub fn error(&self, what: impl fmt::Display) -> Error {
        if self.errno == Errno::EINTR {
            if let Err(interrupted) = interrupt::check() {
                return interrupted;
            }
        }
        let error = Error::new(format!("{what}: {self}"));
        match self.errno {
            Errno::EPROTO | Errno::ENOTTY => error.hint(format!(
                "install the shimos tool and modules of the same version, then: modprobe -r {0} && modprobe {0}",
                self.module.name
            )),
            _ => error,
        }
    }
}

/// From refusals to errors.
pub trait OrRefuse<T> {
    /// Turn a refusal into an error. `what`: the sentence's beginning, "cannot start
    /// 'web'".
    fn or_refuse(self, what: impl fmt::Display) -> Result<T>;
}

impl<T> OrRefuse<T> for Outcome<T> {
    fn or_refuse(self, what: impl fmt::Display) -> Result<T> {
        self.map_err(|refusal| refusal.error(what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static MODULE: Module = Module {
        name: "shimos_x",
        words: |errno| (errno == Errno::EBUSY).then_some("it is in use"),
    };

    fn said(errno: Errno, text: &str) -> (String, String) {
        let refused: Outcome<()> = Err(MODULE.refusal(errno, text));
        match refused.or_refuse("cannot ask") {
            Err(Error::Failed { message, hint }) => (message, hint.unwrap_or_default()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn whose_words() {
        assert_eq!(said(Errno::EBUSY, "by web").0, "cannot ask: by web");
        assert_eq!(said(Errno::EBUSY, "").0, "cannot ask: it is in use");
        let (message, hint) = said(Errno::ENOMEM, "");
        assert_eq!(message, "cannot ask: Out of memory");
        assert_eq!(hint, "");
    }

    #[test]
    fn other_versions() {
        let (message, hint) = said(Errno::EPROTO, "");
        assert_eq!(
            message,
            "cannot ask: the shimos tool and the shimos_x module do not fit each other"
        );
        assert!(hint.contains("same version"));
        assert_eq!(said(Errno::ENOTTY, ""), (message, hint));
        let (message, hint) = said(Errno::EPROTO, "version 1 and version 2");
        assert_eq!(message, "cannot ask: version 1 and version 2");
        assert!(hint.ends_with("modprobe -r shimos_x && modprobe shimos_x"));
    }
}
