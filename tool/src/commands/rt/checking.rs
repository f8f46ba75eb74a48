//! `shimos rt check`

use serde::Serialize;

use super::sharing::named;
use crate::cli;
use crate::error::{Error, Result};
use crate::partition::{Device, RtCheck};
use crate::ui::output;
use crate::ui::refusal::OrRefuse;
use crate::units::count;

/// Print whether a program's memory is as it was loaded; an error if it is not.
pub fn run(device: &dyn Device, args: &cli::RtCheck) -> Result<()> {
    let check = look(device, &args.name)?;
    if args.json {
        output::json(&report(&args.name, check))?;
    } else if intact(check) {
        output::line(format_args!(
            "{}: {}, and its image, are as they were loaded",
            args.name,
            count::of(check.pages, "page", "pages")
        ))?;
    }
    match intact(check) {
        true => Ok(()),
        false => Err(changed(&args.name, check)),
    }
}

fn look(device: &dyn Device, name: &str) -> Result<RtCheck> {
    let but = "is a Linux, which changes its own text as it runs";
    let hint = "only a real-time program can be checked: `shimos rt` lists them";
    let status = named(device, name, but, hint)?;
    device
        .rt_check(status.id)
        .or_refuse(format_args!("cannot check '{name}'"))
}

fn intact(check: RtCheck) -> bool {
    check.changed == 0 && !check.image_changed
}

fn changed(name: &str, check: RtCheck) -> Error {
    let RtCheck { pages, changed, .. } = check;
    let what = match changed {
        0 => "the copy of its image, kept for another start, is not as it was loaded".into(),
        _ => format!(
            "{changed} of {} {} loaded, the first at {:#x}",
            count::of(pages, "page", "pages"),
            match changed {
                1 => "is not as it was",
                _ => "are not as they were",
            },
            check.first
        ),
    };
    let hint = match check.image_changed {
        true => format!("its image has changed, too: `shimos rm --force {name}`, and run it anew"),
        false => format!("`shimos kill {name}` and `shimos restart {name}` begin with its image"),
    };
    Error::new(format!("'{name}': {what}")).hint(hint)
}

#[derive(Debug, Serialize)]
struct Report<'a> {
    name: &'a str,
    intact: bool,
    pages: u32,
    changed: u32,
    /// The program's address of the first; `None` if none has changed.
    first: Option<u64>,
    image_changed: bool,
}

fn report(name: &str, check: RtCheck) -> Report<'_> {
    Report {
        name,
        intact: intact(check),
        pages: check.pages,
        changed: check.changed,
        first: (check.changed > 0).then_some(check.first),
        image_changed: check.image_changed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::fake::{self, Fake};

    #[test]
    fn what_is_found() {
        let mut check = RtCheck {
            pages: 7,
            ..RtCheck::default()
        };
        assert!(intact(check));
        assert_eq!(report("ctl", check).first, None);
        check.changed = 2;
        check.first = 0x101000;
        assert!(!intact(check));
        let error = changed("ctl", check).to_string();
        assert!(error.contains("2 of 7 pages are not as they were loaded, the first at 0x101000"));
        assert_eq!(report("ctl", check).first, Some(0x101000));
        check.changed = 1;
        let error = changed("ctl", check).to_string();
        assert!(
            error.contains("1 of 7 pages is not as it was loaded"),
            "{error}"
        );
        check.changed = 0;
        check.image_changed = true;
        assert!(!intact(check));
        let error = changed("ctl", check).to_string();
        assert!(error.contains("the copy of its image"), "{error}");
    }

    #[test]
    fn who_can_be_checked() {
        let fake = Fake::with(&["web"]);
        fake.add(fake::rt_status("ctl"));
        assert_eq!(look(&fake, "ctl").unwrap(), RtCheck::default());
        let error = look(&fake, "web").unwrap_err().to_string();
        assert!(error.contains("changes its own text"), "{error}");
        assert!(look(&fake, "nobody").is_err());
    }
}
