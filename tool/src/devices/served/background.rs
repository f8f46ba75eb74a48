//! The process that serves a device, apart from the command that has started it: `shimos
//! serve`, which hears what to do on its standard input and says on its standard output
//! how that went.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::{Served, serve};
use crate::abi;
use crate::error::{Error, IoContext, Result};
use crate::system::kernel_log;
use crate::ui::output;

/// What it is to do.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    user: u32,
    user_name: String,
    served: Served,
}

/// How that went.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reply {
    /// The device's number.
    Serves(u32),
    Failed {
        message: String,
        hint: Option<String>,
    },
}

impl Reply {
    fn of(error: &Error) -> Self {
        let (message, hint) = match error {
            Error::Failed { message, hint } => (message.clone(), hint.clone()),
            other => (other.to_string(), None),
        };
        Reply::Failed { message, hint }
    }

    fn result(self) -> Result<u32> {
        match self {
            Reply::Serves(id) => Ok(id),
            Reply::Failed { message, hint } => Err(Error::Failed { message, hint }),
        }
    }
}

/// Have a device served in the background, for the kernel of that number and name; returns the
/// device's number. What serves ends with the device.
pub fn start(user: u32, user_name: &str, served: &Served) -> Result<u32> {
    let cannot = "cannot start what serves it";
    let order = Order {
        user,
        user_name: user_name.into(),
        served: served.clone(),
    };
    let order = serde_json::to_vec(&order).map_err(|e| Error::new(format!("{cannot}: {e}")))?;
    let program = std::env::current_exe().or_fail(cannot)?;
    let mut child = Command::new(program)
        .arg0("shimos")
        // For whoever looks at the list of processes.
        .args(["serve", user_name, &served.to_string()])
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .or_fail(cannot)?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(&order).or_fail(cannot)?;
    }
    let mut reply = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout)
            .read_line(&mut reply)
            .or_fail(cannot)?;
    }
    let reply: Reply = serde_json::from_str(&reply)
        .map_err(|_| Error::new(format!("{cannot}: it ended without a word")))?;
    reply.result()
}

/// Be that process: serve until the device is gone. Whoever has started it hears the first error,
/// the kernel's log those after that.
pub fn run() -> Result<()> {
    // The terminal's signals are not for it, and others end it: the device goes with it.
    abi::default_signals();
    let _ = nix::unistd::setsid();
    let order: Order = serde_json::from_reader(io::stdin().lock())
        .map_err(|e| Error::new(format!("`shimos serve` is not for people: {e}")))?;
    let mut told = false;
    let result = serve(order.user, &order.served, |id| {
        told = true;
        say(&Reply::Serves(id))
    });
    match result {
        Ok(()) => Ok(()),
        Err(error) if told => {
            let (user, served) = (&order.user_name, &order.served);
            kernel_log::error(format_args!("{served} for {user}: {error}"));
            Err(error.quietly())
        }
        Err(error) => {
            say(&Reply::of(&error))?;
            Err(error.quietly())
        }
    }
}

fn say(reply: &Reply) -> Result<()> {
    let text = serde_json::to_string(reply).map_err(|e| Error::new(e.to_string()))?;
    output::line(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_they_say_to_each_other() {
        for reply in [
            Reply::Serves(5),
            Reply::of(&Error::new("no").hint("do")),
            Reply::of(&Error::interrupted(15)),
        ] {
            let text = serde_json::to_string(&reply).unwrap();
            assert_eq!(serde_json::from_str::<Reply>(&text).unwrap(), reply);
        }
        assert_eq!(Reply::Serves(5).result(), Ok(5));
        let error = Reply::of(&Error::new("no").hint("do")).result();
        assert_eq!(error, Err(Error::new("no").hint("do")));
        let order = Order {
            user: 1,
            user_name: "web".into(),
            served: super::super::fs("/srv,tag=a,ro").unwrap(),
        };
        let text = serde_json::to_string(&order).unwrap();
        let back: Order = serde_json::from_str(&text).unwrap();
        assert_eq!(back.served, order.served);
    }
}
