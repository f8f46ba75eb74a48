//! `shimos perf`

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::cli;
use crate::error::{Error, Result};
use crate::ikc::echo::Echo;
use crate::ikc::latency::{Latency, Summary};
use crate::ui::{interrupt, output};
use crate::units::{count, size};

/// Messages between two looks at whether the peer sleeps.
const BATCH: u32 = 32;
/// The round trips at the end: so many, but not for longer than this.
const ROUND_TRIPS: u32 = 1000;
const ROUND_TRIPS_TIME: Duration = Duration::from_secs(1);

#[derive(Debug, Serialize)]
struct Report {
    peer: String,
    size: u64,
    seconds: f64,
    messages: u64,
    bytes: u64,
    messages_per_second: f64,
    bytes_per_second: f64,
    doorbells: u64,
    doorbells_saved: u64,
    doorbells_per_message: f64,
    full: u64,
    /// What the peer says that it has got.
    arrived: u64,
    arrived_bytes: u64,
    round_trip: Option<Summary>,
}

/// Send for some time, then measure round trips; an error if something was lost.
pub fn run(args: &cli::Perf) -> Result<()> {
    let mut echo = Echo::connect(&args.name, args.size, args.timeout)?;
    let mut report = stream(&mut echo, args)?;
    if report.arrived().is_ok() {
        report.round_trip = round_trips(&mut echo)?;
    }
    output::found(&report, args.json, text)?;
    report.arrived()
}

/// Messages in one direction, as many as there is time for.
fn stream(echo: &mut Echo, args: &cli::Perf) -> Result<Report> {
    // Whoever was here before may have left a count.
    echo.count()?;
    let before = echo.counts();
    echo.begin_pushing();
    let start = Instant::now();
    let mut messages = 0;
    while start.elapsed() < args.time {
        for _ in 0..BATCH {
            echo.push()?;
        }
        echo.flush()?;
        messages += u64::from(BATCH);
        interrupt::check()?;
    }
    let after = echo.counts();
    // The answer comes when all of them have been read there.
    let (arrived, arrived_bytes) = echo.count()?;
    let seconds = start.elapsed().as_secs_f64().max(1e-9);
    let bytes = messages * args.size;
    let doorbells = after.rung - before.rung;
    Ok(Report {
        peer: args.name.clone(),
        size: args.size,
        seconds,
        messages,
        bytes,
        messages_per_second: messages as f64 / seconds,
        bytes_per_second: bytes as f64 / seconds,
        doorbells,
        doorbells_saved: after.saved - before.saved,
        doorbells_per_message: doorbells as f64 / messages.max(1) as f64,
        full: after.full - before.full,
        arrived,
        arrived_bytes,
        round_trip: None,
    })
}

fn round_trips(echo: &mut Echo) -> Result<Option<Summary>> {
    let mut latency = Latency::new()?;
    let start = Instant::now();
    for _ in 0..ROUND_TRIPS {
        if start.elapsed() > ROUND_TRIPS_TIME {
            break;
        }
        if let Some(time) = echo.round_trip()? {
            latency.add(time);
        }
        interrupt::check()?;
    }
    Ok(latency.summary())
}

impl Report {
    /// Has the peer got exactly what was sent?
    fn arrived(&self) -> Result<()> {
        if (self.arrived, self.arrived_bytes) == (self.messages, self.bytes) {
            return Ok(());
        }
        Err(Error::new(format!(
            "'{}' counted {} with {}, sent were {} with {}",
            self.peer,
            count::of(self.arrived, "message", "messages"),
            count::of(self.arrived_bytes, "byte", "bytes"),
            self.messages,
            self.bytes
        ))
        .hint("messages must not get lost: please report it"))
    }
}

fn text(r: &Report) -> String {
    let mut text = format!(
        "{}: {} of {} in {:.2} s\n\
         throughput: {:.0} messages/s, {}/s\n\
         doorbells:  {} rung ({:.6} per message), {} saved, ring full {}\n\
         arrived:    {}",
        r.peer,
        count::of(r.messages, "message", "messages"),
        count::of(r.size, "byte", "bytes"),
        r.seconds,
        r.messages_per_second,
        size::show(r.bytes_per_second as u64),
        r.doorbells,
        r.doorbells_per_message,
        r.doorbells_saved,
        count::times(r.full),
        match r.arrived() {
            Ok(()) => "all of them".into(),
            Err(_) => format!("{}", r.arrived),
        }
    );
    if let Some(summary) = &r.round_trip {
        text.push_str(&format!("\nround trip: {summary}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ikc::fake::{Manner, service};
    use crate::ui::output::tests::assert_documented;

    fn args() -> cli::Perf {
        cli::Perf {
            name: "web".into(),
            time: Duration::from_millis(50),
            t: None,
            size: 64,
            timeout: Duration::from_secs(10),
            json: false,
        }
    }

    fn streamed(manner: Manner) -> (Report, Echo) {
        let mut echo = Echo::over(service(manner), "web", 64, Duration::from_secs(10)).unwrap();
        (stream(&mut echo, &args()).unwrap(), echo)
    }

    #[test]
    fn all_arrive() {
        let (mut report, mut echo) = streamed(Manner::Honest);
        assert_eq!(report.arrived(), Ok(()));
        assert!(report.messages >= u64::from(BATCH));
        assert!(report.full > 0, "the ring is smaller than a batch");
        report.round_trip = round_trips(&mut echo).unwrap();
        assert_documented(&report);
        let shown = text(&report);
        assert!(shown.contains("arrived:    all of them"), "{shown}");
        assert!(shown.contains("round trip: min "), "{shown}");
    }

    #[test]
    fn a_lost_message_is_an_error() {
        let (report, _) = streamed(Manner::Loses);
        let error = report.arrived().unwrap_err().to_string();
        assert!(
            error.contains(&format!("counted {} messages", report.messages - 1)),
            "{error}"
        );
    }
}
