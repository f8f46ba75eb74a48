//! A histogram as a picture.

use std::fmt;
use std::ops::Range;

use plotters::drawing::DrawingAreaErrorKind;
use plotters::prelude::*;
use plotters::style::register_font;

use super::distribution::{self, Bucket};
use crate::error::{Error, Result};
use crate::partition::RtLatency;
use crate::units::count;

const SIZE: (u32, u32) = (960, 540);
const FONT: &str = "sans-serif";
/// Where bars begin: on a logarithmic scale one must be higher than nothing.
const GROUND: f64 = 0.5;
/// Of the axis: a bar that is narrower is widened to it, two pixels, so that it is seen.
const LEAST_WIDTH: f64 = 1.0 / 400.0;

/// Draw a whole SVG file: how many, on a logarithmic scale, over nanoseconds.
pub fn svg(name: &str, late: &RtLatency) -> Result<String> {
    let mut text = String::new();
    draw(SVGBackend::with_string(&mut text, SIZE), name, late).map_err(cannot)?;
    Ok(text)
}

/// Draw the same as a whole PNG file.
pub fn png(name: &str, late: &RtLatency) -> Result<Vec<u8>> {
    let mut pixels = vec![0; (SIZE.0 * SIZE.1) as usize * 3];
    draw(BitMapBackend::with_buffer(&mut pixels, SIZE), name, late).map_err(cannot)?;
    encoded(&pixels).map_err(cannot)
}

fn cannot(why: impl fmt::Display) -> Error {
    Error::new(format!("cannot draw: {why}"))
}

fn encoded(pixels: &[u8]) -> Result<Vec<u8>, png::EncodingError> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, SIZE.0, SIZE.1);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(file)
}

/// Letters are the tool's own: a machine may have none.  A viewer of SVG takes its own.
fn bring_font() {
    // Fails if the bytes are no font, which drawing says.
    let _ = register_font(FONT, FontStyle::Normal, dejavu::sans::regular());
}

fn draw<B: DrawingBackend>(
    backend: B,
    name: &str,
    late: &RtLatency,
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    bring_font();
    let area = backend.into_drawing_area();
    area.fill(&WHITE)?;
    let bars = bars(late);
    let x_axis = width(&bars);
    let least = (x_axis.end - x_axis.start) * LEAST_WIDTH;
    let mut chart = ChartBuilder::on(&area)
        .caption(title(name, late), (FONT, 18))
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(72)
        .build_cartesian_2d(x_axis, (GROUND..height(&bars)).log_scale())?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .label_style((FONT, 13))
        .x_label_formatter(&|ns| plain(*ns))
        .y_label_formatter(&|count| plain(*count))
        .x_desc("from the deadline until the program has the CPU, in ns")
        .y_desc("interrupts")
        .draw()?;
    chart.draw_series(bars.iter().map(|&(from, to, count)| {
        Rectangle::new(
            [(from, GROUND), (to.max(from + least), count)],
            BLUE.filled(),
        )
    }))?;
    area.present()
}

fn title(name: &str, late: &RtLatency) -> String {
    let ns = |cycles| distribution::ns(late, cycles);
    format!(
        "{name}: {} of its timer, {} to {} ns late",
        count::of(late.count, "interrupt", "interrupts"),
        ns(late.min),
        ns(late.max)
    )
}

/// As few digits as it takes: 10 and 0.5.
fn plain(number: f64) -> String {
    format!("{}", (number * 1000.0).round() / 1000.0)
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

    /// Its pixels, a line after the other.
    fn decoded(file: &[u8]) -> Vec<[u8; 3]> {
        let mut reader = png::Decoder::new(std::io::Cursor::new(file))
            .read_info()
            .unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        assert_eq!((info.width, info.height), SIZE);
        assert_eq!(info.color_type, png::ColorType::Rgb);
        bytes.chunks_exact(3).map(|p| [p[0], p[1], p[2]]).collect()
    }

    #[test]
    fn the_same_in_pixels() {
        let late = late(&[(592, 10), (688, 1000), (784, 100)]);
        let pixels = decoded(&png("ctl", &late).unwrap());
        let at = |x: i32, y: i32| pixels[(y * SIZE.0 as i32 + x) as usize];
        let (blue, white) = ([0, 0, 255], [255; 3]);
        for [x, y, width, height] in drawn(&svg("ctl", &late).unwrap()) {
            let (right, bottom) = (x + width - 1, y + height - 1);
            for corner in [(x, y), (right, y), (x, bottom), (right, bottom)] {
                assert_eq!(at(corner.0, corner.1), blue, "{corner:?}");
            }
            for beside in [x - 3, right + 3] {
                assert_ne!(at(beside, bottom - 2), blue, "{beside}");
            }
            assert_ne!(at(x, y - 3), blue, "above {x}");
        }
        // words above, below and beside, with soft edges
        let grey = |x: Range<i32>, y: Range<i32>| {
            let all = y.flat_map(|y| x.clone().map(move |x| (x, y)));
            all.filter(|&(x, y)| ![blue, white].contains(&at(x, y)))
                .count()
        };
        for (what, x, y) in [
            ("caption", 0..960, 0..40),
            ("its axis", 100..960, 500..540),
            ("the other axis", 0..40, 100..500),
        ] {
            assert!(grey(x, y) > 200, "{what}");
        }
        assert_eq!(at(2, 2), white);
    }

    #[test]
    fn whatever_there_is() {
        for values in [
            &[(0, 1)][..],
            &[(7, 1)],
            &[(7, u32::MAX), (u64::MAX >> 33, 1)],
        ] {
            let picture = svg("ctl", &late(values)).unwrap();
            let bars = drawn(&picture);
            assert_eq!(bars.len(), values.len(), "{picture}");
            assert!(bars.iter().all(|bar| bar[2] >= 2), "{bars:?}");
            decoded(&png("ctl", &late(values)).unwrap());
        }
        let mut odd = late(&[(9_000_000, 1)]);
        (odd.max, odd.cycles_per_second) = (u64::MAX, 0);
        assert!(svg("ctl", &odd).is_ok() && png("ctl", &odd).is_ok());
    }
}
