//! `shimos attach`

use crate::cli;
use crate::devices::sharing::{Sharing, User};
use crate::devices::view;
use crate::error::{Error, Result};
use crate::ui::output;
use crate::ui::progress::Progress;

/// Share disks and networks with another kernel, and print what it got.
pub fn run(args: &cli::Attach) -> Result<()> {
    let user = User::find(&args.name)?;
    let Some(sharing) = Sharing::open(&args.share.wanted())? else {
        return Err(
            Error::new("nothing is given to share").hint("give --disk, --net, --fs or --vsock")
        );
    };
    let mut progress = Progress::spinner(format!("{}: sharing", user.name));
    let added = sharing.add(&user, &mut progress)?;
    drop(progress);
    if args.json {
        return output::json_list("devices", &added);
    }
    for status in &added {
        output::line(format_args!("{}: {}", user.name, view::line(status)))?;
    }
    Ok(())
}
