//! `shimos rt latency`

use serde::Serialize;

use super::chart;
use super::distribution::{self, Bucket, Figures};
use super::sharing::{WHO_SHARES, named};
use crate::cli::{self, Format, Picture};
use crate::error::{Error, IoContext, Result};
use crate::partition::{Device, RtLatency, Status};
use crate::ui::output;
use crate::ui::refusal::OrRefuse;

/// Characters of the longest bar.
const BAR: f64 = 40.0;

/// Print, or draw, how late a program's interrupts were.
pub fn run(device: &dyn Device, args: &cli::RtLatency) -> Result<()> {
    let late = read(device, &args.name)?;
    if let Some(picture) = &args.histogram {
        draw(&args.name, &late, picture)?;
    }
    if args.json {
        return output::json(&report(&args.name, &late));
    }
    output::line(text(&args.name, &late))?;
    if args.table {
        output::line(format_args!("\n{}", table(&late)))?;
    }
    Ok(())
}

/// What the layer has counted, which is something.
fn read(device: &dyn Device, name: &str) -> Result<RtLatency> {
    let but = "has CPUs of its own, so no layer measures it";
    let hint = format!("{WHO_SHARES}; in a Linux, cyclictest measures the same");
    let status = named(device, name, but, &hint)?;
    let late = device
        .rt_latency(status.id)
        .or_refuse(format_args!("cannot ask about '{name}'"))?;
    match late.count {
        0 => Err(no_deadline(&status)),
        _ => Ok(late),
    }
}

fn no_deadline(status: &Status) -> Error {
    let name = &status.name;
    let hint = match (status.state.active(), status.starts) {
        (true, _) => {
            format!(
                "it has asked for none that is over: wait, or see `shimos logs --console {name}`"
            )
        }
        (false, 0) => format!("it has never run: `shimos restart {name}` starts it"),
        (false, _) => "it ended before it had one".into(),
    };
    Error::new(format!("'{name}' has had no interrupt of its timer yet")).hint(hint)
}

fn draw(name: &str, late: &RtLatency, picture: &Picture) -> Result<()> {
    let drawn = match picture.format {
        Format::Svg => chart::svg(name, late)?.into_bytes(),
        Format::Png => chart::png(name, late)?,
    };
    let file = &picture.file;
    std::fs::write(file, drawn).or_fail(format_args!("cannot write {}", output::shown(file)))
}

#[derive(Debug, Serialize)]
struct Report<'a> {
    name: &'a str,
    count: u64,
    past: u64,
    cycles_per_second: u64,
    ns: Figures,
    cycles: Figures,
    buckets: Vec<ReportBucket>,
}

#[derive(Debug, Serialize)]
struct ReportBucket {
    from_ns: u64,
    to_ns: u64,
    from_cycles: u64,
    to_cycles: u64,
    count: u64,
}

fn report<'a>(name: &'a str, late: &RtLatency) -> Report<'a> {
    let cycles = distribution::figures(late);
    let ns = |cycles| distribution::ns(late, cycles);
    let buckets = distribution::buckets(late).into_iter();
    Report {
        name,
        count: late.count,
        past: late.past,
        cycles_per_second: late.cycles_per_second,
        ns: cycles.map(ns),
        cycles,
        buckets: buckets
            .map(|Bucket { from, to, count }| ReportBucket {
                from_ns: ns(from),
                to_ns: ns(to),
                from_cycles: from,
                to_cycles: to,
                count,
            })
            .collect(),
    }
}

fn text(name: &str, late: &RtLatency) -> String {
    let head = [
        "NAME", "COUNT", "PAST", "MIN", "MEAN", "P50", "P90", "P99", "P99.9", "MAX",
    ];
    let figures = distribution::figures(late).map(|cycles| distribution::ns(late, cycles));
    let mut row = vec![name.into(), late.count.to_string(), late.past.to_string()];
    row.extend(figures.all().map(|ns| format!("{ns} ns")));
    output::table(&[head.map(String::from).to_vec(), row])
}

fn table(late: &RtLatency) -> String {
    let buckets = distribution::buckets(late);
    let all: u64 = buckets.iter().map(|b| b.count).sum();
    let most = buckets.iter().map(|b| b.count).max().unwrap_or(1);
    let mut lines = vec![["NS", "COUNT", "UP TO HERE", ""].map(String::from).to_vec()];
    let mut before = 0;
    for bucket in buckets {
        before += bucket.count;
        lines.push(vec![
            limits(late, bucket),
            bucket.count.to_string(),
            format!("{:.3} %", before as f64 * 100.0 / all as f64),
            bar(bucket.count, most),
        ]);
    }
    output::table(&lines)
}

fn limits(late: &RtLatency, bucket: Bucket) -> String {
    let ns = |cycles| distribution::ns(late, cycles);
    match (ns(bucket.from), ns(bucket.to)) {
        (from, to) if from == to => from.to_string(),
        (from, to) => format!("{from}-{to}"),
    }
}

/// On a logarithmic scale, on which one is something, too.
fn bar(count: u64, most: u64) -> String {
    let height = |count: u64| (count as f64 * 2.0).ln();
    "#".repeat((BAR * height(count) / height(most)).ceil() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::rt::distribution::tests::late;
    use crate::partition::State;
    use crate::partition::fake::{self, Fake};

    /// 1000 interrupts on a clock of 2 GHz.
    fn example() -> RtLatency {
        RtLatency {
            past: 2,
            ..late(&[(40, 10), (100, 984), (130, 5), (9000, 1)])
        }
    }

    fn with_ctl() -> Fake {
        let fake = Fake::with(&["web"]);
        fake.add(fake::rt_status("ctl"));
        fake
    }

    fn args(name: &str) -> cli::RtLatency {
        cli::RtLatency {
            name: name.into(),
            table: false,
            histogram: None,
            json: false,
        }
    }

    #[test]
    fn in_a_line() {
        let fake = with_ctl();
        fake.late(example());
        let late = read(&fake, "ctl").unwrap();
        assert_eq!(
            text("ctl", &late).lines().collect::<Vec<_>>(),
            [
                "NAME  COUNT  PAST  MIN    MEAN   P50    P90    P99    P99.9  MAX",
                "ctl   1000   2     20 ns  54 ns  50 ns  50 ns  50 ns  65 ns  4500 ns",
            ]
        );
    }

    #[test]
    fn in_bars() {
        assert_eq!(
            table(&example()).lines().collect::<Vec<_>>(),
            [
                "NS         COUNT  UP TO HERE",
                "20         10     1.000 %     ################",
                "50         984    99.400 %    ########################################",
                "64-65      5      99.900 %    #############",
                "4480-4607  1      100.000 %   ####",
            ]
        );
        let one = table(&late(&[(7, 1)]));
        assert!(
            one.ends_with(&format!("100.000 %   {}", "#".repeat(40))),
            "{one}"
        );
    }

    #[test]
    fn in_json() {
        let json = serde_json::to_value(report("ctl", &example())).unwrap();
        assert_eq!(json["name"], "ctl");
        assert_eq!((&json["count"], &json["past"]), (&1000.into(), &2.into()));
        assert_eq!(json["cycles_per_second"], 2_000_000_000u64);
        assert_eq!(json["ns"]["p99.9"], 65);
        assert_eq!(json["cycles"]["p99.9"], 131);
        assert_eq!(json["cycles"]["max"], 9000);
        assert_eq!(json["buckets"].as_array().unwrap().len(), 4);
        assert_eq!(json["buckets"][3]["from_cycles"], 8960);
        assert_eq!(json["buckets"][3]["to_ns"], 4607);
        assert_eq!(json["buckets"][3]["count"], 1);
    }

    #[test]
    fn in_a_picture() {
        let fake = with_ctl();
        fake.late(example());
        let directory = tempfile::tempdir().unwrap();
        for (name, begin) in [("ctl.svg", &b"<svg"[..]), ("ctl.png", b"\x89PNG\r\n")] {
            let mut wanted = args("ctl");
            let file = directory.path().join(name);
            wanted.histogram = Picture::new(file.clone()).ok();
            run(&fake, &wanted).unwrap();
            assert!(std::fs::read(&file).unwrap().starts_with(begin), "{name}");
            wanted.histogram = Picture::new(directory.path().join("no/ctl.png")).ok();
            let error = run(&fake, &wanted).unwrap_err().to_string();
            assert!(error.starts_with("cannot write /"), "{error}");
        }
    }

    #[test]
    fn who_is_not_measured() {
        let hint = |fake: &Fake, name: &str| match read(fake, name).unwrap_err() {
            Error::Failed { message, hint } => (message, hint.unwrap_or_default()),
            other => panic!("{other}"),
        };
        let fake = with_ctl();
        assert!(hint(&fake, "nobody").1.contains("web, ctl"));
        let (what, todo) = hint(&fake, "web");
        assert!(what.contains("CPUs of its own"), "{what}");
        assert!(todo.contains("`shimos rt`"), "{todo}");
        let (what, todo) = hint(&fake, "ctl");
        assert!(what.contains("no interrupt of its timer yet"), "{what}");
        assert!(todo.contains("logs --console ctl"), "{todo}");
        for (starts, word) in [(0, "shimos restart new"), (1, "it ended before")] {
            let fake = Fake::default();
            fake.add(Status {
                state: State::Stopped,
                starts,
                ..fake::rt_status("new")
            });
            let (_, todo) = hint(&fake, "new");
            assert!(todo.contains(word), "{todo}");
        }
    }
}
