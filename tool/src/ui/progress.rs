//! One line on the terminal that says what is going on and for how long. It
//! shows up after half a second and never when standard error is no terminal.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const PATIENCE: Duration = Duration::from_millis(500);

/// A line that is gone when it is dropped.
pub struct Progress {
    bar: ProgressBar,
    start: Instant,
    visible: bool,
}

impl Progress {
    /// Show something of unknown length.
    pub fn spinner(text: impl Into<String>) -> Self {
        Self::with(ProgressBar::no_length(), "{spinner} {msg} {elapsed}", text)
    }

    /// Show something with `total` bytes to go through.
    pub fn bytes(text: impl Into<String>, total: u64) -> Self {
        let template = "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec}";
        Self::with(ProgressBar::new(total), template, text)
    }

    fn with(bar: ProgressBar, template: &str, text: impl Into<String>) -> Self {
        bar.set_draw_target(ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(text.into());
        Progress {
            bar,
            start: Instant::now(),
            visible: false,
        }
    }

    fn show(&mut self) {
        if !self.visible && self.start.elapsed() >= PATIENCE && std::io::stderr().is_terminal() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.visible = true;
        }
    }

    /// Show that it is still going on.
    pub fn tick(&mut self) {
        self.show();
        self.bar.tick();
    }

    /// Say that something else is going on now; the time goes on.
    pub fn say(&mut self, text: impl Into<String>) {
        self.bar.set_message(text.into());
        self.tick();
    }

    /// Say how many bytes are done.
    pub fn position(&mut self, done: u64) {
        self.bar.set_position(done);
        self.show();
    }

    /// Keep turning while a call blocks.
    pub fn during<T>(&mut self, work: impl FnOnce() -> T) -> T {
        if !std::io::stderr().is_terminal() {
            return work();
        }
        self.bar.set_draw_target(ProgressDrawTarget::stderr());
        self.visible = true;
        self.bar.enable_steady_tick(Duration::from_millis(250));
        let result = work();
        self.bar.disable_steady_tick();
        result
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
