//! How a command fails: one line that says what and why, one that says what to
//! do about it.

use std::fmt;
use std::io;

/// What a command returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a command ends before its end.
#[derive(Debug, PartialEq, Eq)]
pub enum Error {
    /// Something is wrong. `hint` is what to do about it, where that is known.
    Failed {
        message: String,
        hint: Option<String>,
    },
    /// A signal (its number) ended the command; `undone` says what was undone.
    Interrupted { signal: i32, undone: Option<String> },
    /// Whoever read our output has gone: the end, but no error.
    OutputClosed,
    /// Everything has been said already; only the exit code is left.
    Reported(u8),
}

impl Error {
    /// Make an error of its message, one line without a full stop.
    pub fn new(message: impl Into<String>) -> Self {
        Error::Failed {
            message: message.into(),
            hint: None,
        }
    }

    /// Say what to do about it.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        match self {
            Error::Failed { message, .. } => Error::Failed {
                message,
                hint: Some(hint.into()),
            },
            other => other,
        }
    }

    /// Say the same if nothing has been said about it yet.
    pub fn or_hint(self, hint: impl Into<String>) -> Self {
        match self {
            Error::Failed { hint: None, .. } => self.hint(hint),
            other => other,
        }
    }

    /// Put "`what`: " before the message.
    pub fn context(self, what: impl fmt::Display) -> Self {
        match self {
            Error::Failed { message, hint } => Error::Failed {
                message: format!("{what}: {message}"),
                hint,
            },
            other => other,
        }
    }

    /// Make the end by a signal, of that number; nothing is undone yet.
    pub fn interrupted(signal: i32) -> Self {
        Error::Interrupted {
            signal,
            undone: None,
        }
    }

    /// Keep the exit code alone.
    pub fn quietly(self) -> Self {
        Error::Reported(self.exit_code())
    }

    /// Return the exit code: 0 success, 1 failure, 2 usage (clap's), 128 + n ended by
    /// signal n.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Failed { .. } => 1,
            Error::Reported(code) => *code,
            Error::Interrupted { signal, .. } => 128u8.wrapping_add((*signal & 0x7f) as u8),
            Error::OutputClosed => 0,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Failed { message, .. } => f.write_str(message),
            Error::Interrupted { signal, .. } => match signal {
                2 => f.write_str("interrupted"),
                n => write!(f, "ended by signal {n}"),
            },
            Error::OutputClosed => f.write_str("output closed"),
            Error::Reported(_) => f.write_str("failed"),
        }
    }
}

/// Return the system's words for an I/O error, without Rust's "(os error 2)".
pub fn io_text(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(code) => nix::errno::Errno::from_raw(code).desc().to_string(),
        None => error.to_string(),
    }
}

/// From the system's errors to ours.
pub trait IoContext<T> {
    /// Turn a failure into an error. `what`: the sentence's beginning, "cannot read
    /// /boot/vmlinuz".
    fn or_fail(self, what: impl fmt::Display) -> Result<T>;
}

impl<T> IoContext<T> for io::Result<T> {
    fn or_fail(self, what: impl fmt::Display) -> Result<T> {
        self.map_err(|e| Error::new(format!("{what}: {}", io_text(&e))))
    }
}

impl<T> IoContext<T> for nix::Result<T> {
    fn or_fail(self, what: impl fmt::Display) -> Result<T> {
        self.map_err(|e| Error::new(format!("{what}: {}", e.desc())))
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Both lines of an error, as a snapshot shows them.
    pub fn told(error: &Error) -> String {
        match error {
            Error::Failed {
                message,
                hint: Some(hint),
            } => format!("{message}\n    {hint}"),
            other => other.to_string(),
        }
    }

    /// What a user reads in each of these cases, under a name for it, for a snapshot.
    pub fn failures<T>(cases: impl IntoIterator<Item = (&'static str, Result<T>)>) -> String {
        let line = |(case, result): (&str, Result<T>)| match result {
            Ok(_) => format!("{case}: no error"),
            Err(error) => format!("{case}:\n    {}", told(&error)),
        };
        cases.into_iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// What a user reads who writes each of these, for a snapshot.
    pub fn errors<T>(given: &[&str], read: impl Fn(&str) -> Result<T, String>) -> String {
        let line = |text: &&str| match read(text) {
            Ok(_) => format!("{text:?} is taken"),
            Err(error) => format!("{text:?}\n    {error}"),
        };
        given.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn exit_codes() {
        assert_eq!(Error::new("x").exit_code(), 1);
        assert_eq!(Error::interrupted(2).exit_code(), 130);
        assert_eq!(Error::interrupted(15).exit_code(), 143);
        assert_eq!(Error::interrupted(2).quietly().exit_code(), 130);
        assert_eq!(Error::OutputClosed.exit_code(), 0);
    }

    #[test]
    fn context_and_hint() {
        let e = Error::new("no").hint("do").context("run");
        assert_eq!(e.to_string(), "run: no");
        assert!(matches!(e, Error::Failed { hint: Some(h), .. } if h == "do"));
    }
}
