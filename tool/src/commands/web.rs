//! `shimos web`

use std::net::SocketAddr;

use crate::cli;
use crate::error::Result;
use crate::machine::snapshot::Source;
use crate::machine::web::Server;
use crate::ui::output;

/// Serve the page until a signal ends it.
pub fn run(args: &cli::Web) -> Result<()> {
    let mut source = Source::open()?;
    let server = Server::bind(SocketAddr::new(args.bind, args.port))?;
    if !args.bind.is_loopback() {
        output::note(format_args!(
            "warning: whoever can reach {} can read the page",
            args.bind
        ));
    }
    output::line(format_args!("http://{}/", server.address()))?;
    server.run(&mut || source.read())
}
