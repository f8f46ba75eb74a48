//! The command-line tool of SHIMOS.

mod abi;
mod arch;
mod boot;
mod cli;
mod commands;
mod config;
mod devices;
mod error;
mod guest;
mod ikc;
mod kml;
mod machine;
mod memory;
mod partition;
mod pci;
mod system;
mod ui;
mod units;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command, Trust};
use error::Result;
use partition::kloader::KLoader;
use ui::{output, terminal};

fn main() -> ExitCode {
    terminal::restore_on_panic();
    commands::docs::complete();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // What is wrong would look like the program's exit code 2.
        Err(e) if e.use_stderr() && is_trust_run(std::env::args_os().skip(1)) => {
            let _ = e.print();
            return ExitCode::from(kml::program::FAILED);
        }
        Err(e) => e.exit(),
    };
    abi::catch_signals();
    match dispatch(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            output::error(&e);
            ExitCode::from(e.exit_code())
        }
    }
}

fn is_trust_run(words: impl Iterator<Item = OsString>) -> bool {
    let mut commands = words.filter(|word| !word.as_encoded_bytes().starts_with(b"-"));
    commands.by_ref().take(2).eq(["trust", "run"])
}

fn dispatch(cli: Cli) -> Result<()> {
    let verbose = cli.verbose;
    match cli.command {
        // These need no KLoader.
        Command::Doctor(args) => commands::doctor::run(&args),
        Command::Bench(args) => commands::bench::run(&args),
        Command::Completions { shell } => commands::docs::completions(shell),
        Command::Man { directory } => commands::docs::man(&directory),
        // A partition has none.
        Command::Ping(args) => commands::ping::run(&args),
        Command::Perf(args) => commands::perf::run(&args),
        Command::Ikc(args) => commands::ikc::run(&args),
        Command::Top(args) => commands::top::run(&args),
        Command::Web(args) => commands::web::run(&args),
        Command::Show(cli::Show { name: None, json }) => commands::map::run(json),
        Command::Attach(args) => commands::attach::run(&args),
        Command::Detach(args) => commands::detach::run(&args),
        Command::Devices(args) => commands::devices::run(&args),
        Command::Trust(Trust::Run(args)) => commands::trust::run(&args),
        Command::Trust(Trust::Status(args)) => commands::trust::status(&args),
        command => with_device(command, &KLoader::open()?, verbose),
    }
}

fn with_device(command: Command, device: &KLoader, verbose: bool) -> Result<()> {
    match command {
        Command::Ls(args) => commands::ls::run(device, &args),
        Command::Show(args) => commands::show::run(device, &args),
        Command::Logs(args) => commands::logs::run(device, &args, verbose),
        Command::Console(args) => commands::console::run(device, &args),
        Command::Stop(args) => commands::stop::run(device, &args),
        Command::Kill(args) => commands::kill::run(device, &args),
        Command::Start(args) => commands::start::run(device, &args, verbose),
        Command::Wait(args) => commands::wait::run(device, &args),
        Command::Restart(args) => commands::restart::run(device, &args),
        Command::Rm(args) => commands::rm::run(device, &args),
        Command::Dump(args) => commands::dump::run(device, &args),
        Command::Rt(args) => commands::rt::run(device, &args),
        Command::Run(args) => commands::run::run(device, &args, verbose),
        Command::Doctor(_)
        | Command::Bench(_)
        | Command::Ping(_)
        | Command::Perf(_)
        | Command::Ikc(_)
        | Command::Top(_)
        | Command::Web(_)
        | Command::Attach(_)
        | Command::Detach(_)
        | Command::Devices(_)
        | Command::Trust(_)
        | Command::Completions { .. }
        | Command::Man { .. } => Ok(()),
    }
}
