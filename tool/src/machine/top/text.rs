//! The columns, as text.

use crate::machine::rates::{DeviceRow, Row, Sort};
use crate::ui::output::{self, printable};
use crate::units::size;

/// The columns' heads.
pub const HEAD: [&str; Sort::ALL.len()] = [
    "NAME",
    "STATE",
    "CPUS",
    "CPU%",
    "MEMORY",
    "READ/S",
    "WRITE/S",
    "RX/S",
    "TX/S",
    "DOORBELLS/S",
];

/// The heads of a kernel's devices.
pub const DEVICE_HEAD: [&str; 9] = [
    "ID",
    "KIND",
    "NAME",
    "STATE",
    "READ/S",
    "WRITE/S",
    "OPS/S",
    "DOORBELLS/S",
    "POLL%",
];

/// What is not known, or not there.
const NONE: &str = "-";

/// Write a row's cells.
pub fn cells(row: &Row) -> [String; HEAD.len()] {
    let bytes = |rate: Option<f64>| rate.map_or(NONE.into(), show_bytes);
    [
        printable(&row.name),
        row.state.clone(),
        row.cpus.map_or(NONE.into(), |n| n.to_string()),
        row.cpu_percent.map_or(NONE.into(), |p| format!("{p:.0}")),
        row.memory.map_or(NONE.into(), size::show),
        bytes(row.disk_read),
        bytes(row.disk_write),
        bytes(row.net_rx),
        bytes(row.net_tx),
        row.doorbells.map_or(NONE.into(), show_count),
    ]
}

/// Write a device's cells.
pub fn device_cells(device: &DeviceRow) -> [String; DEVICE_HEAD.len()] {
    [
        device.id.to_string(),
        device.kind.to_string(),
        printable(&device.name),
        device.state.name().into(),
        show_bytes(device.read),
        show_bytes(device.written),
        show_count(device.operations),
        show_count(device.doorbells),
        show_count(device.polled_percent),
    ]
}

fn show_bytes(rate: f64) -> String {
    match rate.round() as u64 {
        // "17 bytes" is too wide for a column.
        bytes @ 0..1024 => format!("{bytes} B"),
        bytes => size::show(bytes),
    }
}

fn show_count(rate: f64) -> String {
    format!("{rate:.0}")
}

/// Write all of it, for scripts.
pub fn table(rows: &[Row]) -> String {
    let mut lines = vec![HEAD.map(String::from).to_vec()];
    lines.extend(rows.iter().map(|row| cells(row).to_vec()));
    output::table(&lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::rates;

    #[test]
    fn columns() {
        insta::assert_snapshot!(table(&rates::example()));
        let device = &rates::example()[0].devices[0];
        assert_eq!(
            device_cells(device).join(" "),
            "1 disk /dev/vdb running 1 MiB 0 B 10 5 5"
        );
    }
}
