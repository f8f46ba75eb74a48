//! A histogram as a picture.

use std::fmt;
use std::ops::Range;

use plotters::prelude::*;

use super::distribution::{self, Bucket};
use crate::device::RtLatency;
use crate::error::{Error, Result};

const SIZE: (u32, u32) = (960, 540);
const FONT: &str = "sans-serif";
/// Where bars begin: on a logarithmic scale one must be higher than nothing.
const GROUND: f64 = 0.5;

/// A whole SVG file: how many, on a logarithmic scale, over nanoseconds.
pub fn svg(name: &str, late: &RtLatency) -> Result<String> {
    let mut text = String::new();
    draw(&mut text, name, late).map_err(|why| Error::new(format!("cannot draw: {why}")))?;
    Ok(text)
}

fn draw(text: &mut String, name: &str, late: &RtLatency) -> Result<(), impl fmt::Display> {
    let area = SVGBackend::with_string(text, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let bars = bars(late);
    let mut chart = ChartBuilder::on(&area)
        .caption(title(name, late), (FONT, 18))
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(72)
        .build_cartesian_2d(width(&bars), (GROUND..height(&bars)).log_scale())?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .label_style((FONT, 13))
        .x_desc("from the deadline until the program has the CPU, in ns")
        .y_desc("interrupts")
        .draw()?;
    chart
        .draw_series(bars.iter().map(|&(from, to, count)| {
            Rectangle::new([(from, GROUND), (to, count)], BLUE.filled())
        }))?;
    area.present()
}

fn title(name: &str, late: &RtLatency) -> String {
    let ns = |cycles| distribution::ns(late, cycles);
    format!(
        "{name}: {} interrupts of its timer, {} to {} ns late",
        late.count,
        ns(late.min),
        ns(late.max)
    )
}

/// From, to and how many.
fn bars(late: &RtLatency) -> Vec<(f64, f64, f64)> {
    let ns = |cycles: u64| cycles as f64 * 1e9 / late.cycles_per_second.max(1) as f64;
    let bar = |b: Bucket| (ns(b.from), ns(b.to.saturating_add(1)), b.count as f64);
    distribution::buckets(late).into_iter().map(bar).collect()
}

/// What the bars need, and a bit on both sides.
fn width(bars: &[(f64, f64, f64)]) -> Range<f64> {
    let from = bars.first().map_or(0.0, |bar| bar.0);
    let to = bars.last().map_or(1.0, |bar| bar.1);
    let more = (to - from) * 0.05;
    (from - more).max(0.0)..to + more
}

fn height(bars: &[(f64, f64, f64)]) -> f64 {
    bars.iter().map(|bar| bar.2).fold(1.0, f64::max) * 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::rt::distribution::tests::late;

    /// The blue rectangles: left edge, top, width, height.
    fn drawn(svg: &str) -> Vec<[i32; 4]> {
        let number = |tag: &str, name: &str| {
            let from = tag.split(&format!(" {name}=\"")).nth(1).unwrap();
            from.split('"').next().unwrap().parse().unwrap()
        };
        svg.split("<rect")
            .filter(|tag| tag.contains("fill=\"#0000FF\""))
            .map(|tag| ["x", "y", "width", "height"].map(|name| number(tag, name)))
            .collect()
    }

    #[test]
    fn a_bar_for_each_bucket() {
        let picture = svg("ctl", &late(&[(592, 10), (688, 1000), (784, 100)])).unwrap();
        let bars = drawn(&picture);
        assert_eq!(bars.len(), 3, "{picture}");
        // evenly apart, as they are in time
        assert!(
            (bars[0][0] + bars[2][0] - 2 * bars[1][0]).abs() <= 2,
            "{bars:?}"
        );
        // each ten times are as much higher, one begins above the ground
        let step = bars[2][3] - bars[0][3];
        assert!(
            step > 0 && (bars[1][3] - bars[2][3] - step).abs() <= 2,
            "{bars:?}"
        );
        let grounds = bars.iter().map(|bar| bar[1] + bar[3]);
        assert_eq!(grounds.clone().max(), grounds.min(), "{bars:?}");
        for words in [
            "ctl: 1110 interrupts",
            "296 to 392 ns late",
            "in ns",
            "interrupts",
        ] {
            assert!(picture.contains(words), "{words}: {picture}");
        }
    }

    #[test]
    fn whatever_there_is() {
        for values in [
            &[(0, 1)][..],
            &[(7, 1)],
            &[(7, u32::MAX), (u64::MAX >> 33, 1)],
        ] {
            let picture = svg("ctl", &late(values)).unwrap();
            assert_eq!(drawn(&picture).len(), values.len(), "{picture}");
        }
        let mut odd = late(&[(9_000_000, 1)]);
        (odd.max, odd.cycles_per_second) = (u64::MAX, 0);
        assert!(svg("ctl", &odd).is_ok());
    }
}
