//! Inter-kernel communication, as the commands see it: all of it goes through
//! `/dev/ikc`, so that it works in a partition as well.

pub mod echo;
pub mod latency;
pub mod view;

#[cfg(test)]
pub mod fake;

use crate::abi;
use crate::error::Error;

/// SIGINT, should a call say that it was interrupted and nobody know by what.
const UNKNOWN_SIGNAL: i32 = 2;

impl From<shimos_ikc::Error> for Error {
    fn from(error: shimos_ikc::Error) -> Self {
        if error == shimos_ikc::Error::Interrupted {
            return Error::interrupted(abi::pending_signal().unwrap_or(UNKNOWN_SIGNAL));
        }
        let message = Error::new(error.to_string());
        match error.hint() {
            Some(hint) => message.hint(hint),
            None => message,
        }
    }
}
