//! `shimos ping`

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::cli;
use crate::error::{Error, Result};
use crate::ikc::echo::Echo;
use crate::ikc::latency::{self, Latency, Summary};
use crate::ui::{interrupt, output};
use crate::units::{count, duration};

const SIGINT: i32 = 2;

#[derive(Debug, Serialize)]
struct Statistics {
    peer: String,
    size: u64,
    sent: u64,
    answered: u64,
    lost: u64,
    seconds: f64,
    messages_per_second: f64,
    round_trip: Option<Summary>,
    doorbells: u64,
    doorbells_saved: u64,
}

/// Measure round trips, one after the other.
pub fn run(args: &cli::Ping) -> Result<()> {
    let mut echo = Echo::connect(&args.name, args.size, args.timeout)?;
    // Each message has its line, but not in JSON, and not if they come in masses.
    let lines = !args.json && !args.interval.is_zero();
    if !args.json {
        output::line(format_args!(
            "pinging {}: {}, channel {}",
            args.name,
            count::of(args.size, "byte", "bytes"),
            echo.channel()
        ))?;
    }
    let (statistics, end) = ping(&mut echo, args, lines)?;
    output::found(&statistics, args.json, text)?;
    end?;
    match statistics.answered {
        // As ping(8): no answer at all, or some are missing.
        0 => Err(Error::Reported(1)),
        _ if statistics.lost > 0 => Err(Error::Reported(1)),
        _ => Ok(()),
    }
}

/// Send until the count is reached, Ctrl-C or an error: what was measured until
/// then, and how it ended.
fn ping(echo: &mut Echo, args: &cli::Ping, lines: bool) -> Result<(Statistics, Result<()>)> {
    if args.poll {
        echo.never_sleep();
    }
    let mut latency = Latency::new()?;
    let before = echo.counts();
    let mut sent = 0;
    let start = Instant::now();
    let end = loop {
        let next = Instant::now() + args.interval;
        let time = match echo.round_trip() {
            Ok(time) => time,
            Err(error) => break Err(error),
        };
        sent += 1;
        if let Some(time) = time {
            latency.add(time);
        }
        if lines {
            output::line(line(args, sent, time))?;
        }
        if args.count == Some(sent) {
            break Ok(());
        }
        if let Err(error) = interrupt::pause_until(next) {
            break Err(error);
        }
    };
    let seconds = start.elapsed().as_secs_f64();
    let round_trip = latency.summary();
    let answered = round_trip.as_ref().map_or(0, |summary| summary.count);
    let after = echo.counts();
    let statistics = Statistics {
        peer: args.name.clone(),
        size: args.size,
        sent,
        answered,
        lost: sent - answered,
        seconds,
        messages_per_second: answered as f64 / seconds.max(1e-9),
        round_trip,
        doorbells: after.rung - before.rung,
        doorbells_saved: after.saved - before.saved,
    };
    Ok((statistics, end.or_else(by_ctrl_c)))
}

/// Ctrl-C is how a ping ends; all else is an error.
fn by_ctrl_c(error: Error) -> Result<()> {
    match error {
        Error::Interrupted { signal: SIGINT, .. } => Ok(()),
        other => Err(other),
    }
}

fn line(args: &cli::Ping, number: u64, time: Option<Duration>) -> String {
    match time {
        Some(time) => format!(
            "{} from {}: seq={number} time={}",
            count::of(args.size, "byte", "bytes"),
            args.name,
            latency::short(time)
        ),
        None => format!(
            "{}: seq={number} no answer within {}",
            args.name,
            duration::seconds(args.timeout)
        ),
    }
}

fn text(s: &Statistics) -> String {
    let mut text = format!(
        "{}: {} sent, {} answered, {} lost in {:.2} s, {:.1} messages/s",
        s.peer, s.sent, s.answered, s.lost, s.seconds, s.messages_per_second
    );
    if let Some(summary) = &s.round_trip {
        text.push_str(&format!("\nround trip: {summary}"));
    }
    text.push_str(&format!(
        "\ndoorbells: {} rung, {} saved",
        s.doorbells, s.doorbells_saved
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ikc::fake::{Manner, service};
    use crate::ui::output::tests::assert_documented;

    fn args(count: u64, poll: bool) -> cli::Ping {
        cli::Ping {
            name: "web".into(),
            count: Some(count),
            interval: Duration::ZERO,
            size: 64,
            poll,
            timeout: Duration::from_millis(20),
            json: false,
        }
    }

    fn pinged(manner: Manner, args: &cli::Ping) -> (Statistics, Result<()>) {
        let timeout = match manner {
            Manner::Silent => args.timeout,
            _ => Duration::from_secs(10),
        };
        let mut echo = Echo::over(service(manner), "web", args.size, timeout).unwrap();
        ping(&mut echo, args, false).unwrap()
    }

    #[test]
    fn all_answered() {
        for poll in [false, true] {
            let (statistics, end) = pinged(Manner::Honest, &args(50, poll));
            assert_eq!(end, Ok(()));
            assert_eq!((statistics.sent, statistics.lost), (50, 0));
            assert_eq!(statistics.doorbells + statistics.doorbells_saved, 50);
            let shown = text(&statistics);
            assert!(shown.starts_with("web: 50 sent, 50 answered, 0 lost in"));
            assert!(shown.contains("\nround trip: min "), "{shown}");
            assert_documented(&statistics);
            let json = serde_json::to_value(&statistics).unwrap();
            assert_eq!(json["round_trip"]["count"], 50);
            assert!(json["round_trip"]["p99.9_ns"].is_u64());
        }
    }

    #[test]
    fn nobody_answers() {
        let (statistics, end) = pinged(Manner::Silent, &args(2, false));
        assert_eq!(end, Ok(()));
        assert_eq!((statistics.answered, statistics.lost), (0, 2));
        assert!(!text(&statistics).contains("round trip"));
    }

    #[test]
    fn the_peer_dies() {
        let (statistics, end) = pinged(Manner::Leaves, &args(2, false));
        assert_eq!(statistics.sent, 0);
        assert!(end.unwrap_err().to_string().contains("has closed"));
    }

    #[test]
    fn how_it_ends() {
        assert_eq!(by_ctrl_c(Error::interrupted(2)), Ok(()));
        assert_eq!(
            by_ctrl_c(Error::interrupted(15)),
            Err(Error::interrupted(15))
        );
    }

    #[test]
    fn lines() {
        let args = args(1, false);
        assert_eq!(
            line(&args, 3, Some(Duration::from_nanos(12_340))),
            "64 bytes from web: seq=3 time=12.3 µs"
        );
        assert_eq!(line(&args, 4, None), "web: seq=4 no answer within 0.02 s");
    }
}
