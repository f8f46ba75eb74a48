//! What a report says of the machine.

use crate::system::System;
use crate::ui::output::printable;

/// What /sys/class/dmi/id has that tells machines of one kind from others, and no serial numbers.
const DMI: [&str; 7] = [
    "sys_vendor",
    "product_name",
    "product_version",
    "board_name",
    "bios_vendor",
    "bios_version",
    "bios_date",
];

/// Describe machine, firmware and kernel, a line each.
pub fn describe(system: &System) -> Vec<String> {
    let mut lines = Vec::new();
    let mut say = |what: &str, found: Option<String>| {
        if let Some(found) = found.filter(|found| !found.is_empty()) {
            lines.push(format!("{what}: {}", printable(&found)));
        }
    };
    say("kernel", system.read("proc/version"));
    say("parameters", system.read("proc/cmdline"));
    let cpuinfo = system.read("proc/cpuinfo").unwrap_or_default();
    for field in [
        "vendor_id",
        "model name",
        "cpu family",
        "model",
        "stepping",
        "microcode",
        "flags",
        "bugs",
    ] {
        say(field, first(&cpuinfo, field));
    }
    say("CPUs", system.read("sys/devices/system/cpu/present"));
    let memory = system.read("proc/meminfo").unwrap_or_default();
    say("memory", first(&memory, "MemTotal"));
    for name in DMI {
        say(name, system.read(format!("sys/class/dmi/id/{name}")));
    }
    let tables = "sys/firmware/acpi/tables";
    say("ACPI tables", Some(sizes(system, tables)));
    let units = system.list("sys/class/iommu");
    say("IOMMUs", Some(units.join(" ")));
    lines
}

/// The value of the first `field : value` of a file of /proc.
fn first(text: &str, field: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == field).then(|| value.trim().to_string())
    })
}

/// The files of a directory with their lengths.
fn sizes(system: &System, directory: &str) -> String {
    let with_size = |name: String| {
        let data = std::fs::metadata(system.path(directory).join(&name)).ok()?;
        data.is_file().then(|| format!("{name} {}", data.len()))
    };
    let found: Vec<String> = system
        .list(directory)
        .into_iter()
        .filter_map(with_size)
        .collect();
    found.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_described() {
        let work = tempfile::tempdir().unwrap();
        let file = |path: &str, text: &str| {
            let path = work.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        file("proc/version", "Linux version 6.12\n");
        file(
            "proc/cpuinfo",
            "processor\t: 0\nmodel name\t: A\u{1b} CPU\nmodel\t\t: 7\n\nmodel name : B\n",
        );
        file("sys/class/dmi/id/bios_date", "2026-01-01\n");
        file("sys/firmware/acpi/tables/APIC", "12345678");
        file("sys/firmware/acpi/tables/dynamic/SSDT1", "1");
        let lines = describe(&System::at(work.path()));
        assert_eq!(
            lines,
            [
                "kernel: Linux version 6.12",
                "model name: A\\x1b CPU",
                "model: 7",
                "bios_date: 2026-01-01",
                "ACPI tables: APIC 8",
            ]
        );
    }
}
