//! `shimos exec`

use std::io::{self, IsTerminal};

use crate::cli;
use crate::devices::node::Node;
use crate::devices::sharing::User;
use crate::devices::{self, Devices, Kind};
use crate::error::{Error, Result};
use crate::exec::client;
use crate::exec::{FAILED, Start};
use crate::ui::output;
use crate::ui::refusal::OrRefuse;

/// Run a program in a partition; the exit code is its own.
pub fn run(args: &cli::Exec) -> Result<()> {
    let exit = address(&args.name).and_then(|cid| client::run(cid, &start(args)));
    match exit {
        Ok(exit) => client::code(&exit),
        // 1 would look like the program's.
        Err(error @ Error::Failed { .. }) => {
            output::error(&error);
            Err(Error::Reported(FAILED))
        }
        Err(other) => Err(other),
    }
}

fn start(args: &cli::Exec) -> Start {
    let terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    let terminal = args.tty || (terminal && !args.no_tty);
    let mut env = args.env.clone();
    if let (true, Ok(term)) = (terminal, std::env::var("TERM")) {
        env.insert(0, format!("TERM={term}"));
    }
    Start {
        command: args.command.clone(),
        env,
        directory: args.workdir.clone(),
        terminal: terminal.then(client::terminal_size),
        container: None,
    }
}

/// Find the address of a partition's vsock.
fn address(name: &str) -> Result<u32> {
    let user = User::find(name)?;
    let node = Node::open()?;
    find_address(&node, &user)
}

fn find_address(devices: &dyn Devices, user: &User) -> Result<u32> {
    let list = devices::all(devices).or_refuse("cannot list the shared devices")?;
    let its = |s: &&devices::Status| s.kind == Kind::Vsock && s.user == user.number;
    let vsock = list.iter().find(its).and_then(|s| s.name.parse().ok());
    vsock.ok_or_else(|| {
        Error::new(format!("'{}' has no vsock", user.name))
            .hint(format!("shimos attach {} --vsock", user.name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::Status;
    use crate::devices::fake::{self, Fake};
    use crate::error::tests::told;

    #[test]
    fn whose_address() {
        let user = User {
            number: 1,
            name: "web".into(),
        };
        let vsock = Status {
            kind: Kind::Vsock,
            ..fake::disk(2, "web", "42")
        };
        let fake = Fake::with(&[fake::disk(1, "web", "9"), vsock]);
        assert_eq!(find_address(&fake, &user), Ok(42));
        let other = User { number: 2, ..user };
        let error = find_address(&fake, &other).unwrap_err();
        assert_eq!(
            told(&error),
            "'web' has no vsock\n    shimos attach web --vsock"
        );
    }
}
