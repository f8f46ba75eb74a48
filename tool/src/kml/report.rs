//! What the doctor says of programs in kernel mode.

use serde::Serialize;

use super::MODULE;
use crate::ui::check::{self, Check, Verdict};
use crate::units::count;

/// The doctor's lines about kernel mode, and what they come to.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Nothing is against it, but maybe something is to be done first.
    pub possible: bool,
    pub loaded: bool,
    pub checks: Vec<Check>,
}

impl Report {
    /// Write all lines, and the verdict below them.
    pub fn text(&self) -> String {
        let mut lines = vec![
            String::new(),
            "Kernel mode programs (`shimos trust`), which partitions do not need:".into(),
        ];
        lines.extend(check::lines(&self.checks));
        lines.push(String::new());
        lines.push(match (self.possible, self.loaded) {
            (true, true) => "Trusted programs run in kernel mode.".into(),
            (true, false) => {
                format!("Programs can run in kernel mode once {MODULE} is loaded.")
            }
            (false, _) if check::count(&self.checks, Verdict::Fail) == 0 => {
                "Programs cannot run in kernel mode here.".into()
            }
            (false, _) => format!(
                "Programs cannot run in kernel mode: {} against it.",
                count::of(
                    check::count(&self.checks, Verdict::Fail),
                    "thing is",
                    "things are"
                )
            ),
        });
        lines.join("\n")
    }
}
