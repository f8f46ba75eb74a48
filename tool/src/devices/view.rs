//! Shared devices as tables and in a line.

use super::{Kind, Status};
use crate::ui::output::{self, printable};
use crate::units::{count, size};

/// Write all of them as a table.
pub fn table(list: &[Status]) -> String {
    rows(list, true)
}

/// Write those of one user as a table; empty if there are none.
pub fn table_of(list: &[Status], user: &str) -> String {
    let its: Vec<Status> = list
        .iter()
        .filter(|s| s.user_name == user)
        .cloned()
        .collect();
    match its.is_empty() {
        true => String::new(),
        false => rows(&its, false),
    }
}

fn rows(list: &[Status], with_user: bool) -> String {
    let head = [
        "ID",
        "USER",
        "KIND",
        "NAME",
        "STATE",
        "SIZE/MAC",
        "READS",
        "WRITES",
        "DIRECT",
        "COPIED",
        "DOORBELLS",
        "NOTE",
    ];
    let mut rows = vec![head.map(String::from).to_vec()];
    for s in list {
        let c = &s.counters;
        rows.push(vec![
            s.id.to_string(),
            printable(&s.user_name),
            s.kind.to_string(),
            printable(&s.name),
            s.state.name().into(),
            what(s),
            format!("{} ({})", c.reads, size::show(c.read_bytes)),
            format!("{} ({})", c.writes, size::show(c.write_bytes)),
            size::show(c.direct_bytes),
            size::show(c.copied_bytes),
            c.doorbells_from_user
                .saturating_add(c.doorbells_to_user)
                .to_string(),
            remark(s),
        ]);
    }
    if !with_user {
        for row in &mut rows {
            row.remove(1);
        }
    }
    output::table(&rows)
}

fn what(s: &Status) -> String {
    match s.kind {
        Kind::Net => s.mac.to_string(),
        Kind::Disk => size::show(s.capacity),
        Kind::Vsock => format!("CID {}", printable(&s.name)),
        Kind::Fs | Kind::Unknown => "-".into(),
    }
}

fn remark(s: &Status) -> String {
    let mut remarks = Vec::new();
    if s.read_only {
        remarks.push("read-only".into());
    }
    if !s.problem.is_empty() {
        remarks.push(printable(&s.problem));
    }
    if s.counters.errors != 0 {
        remarks.push(count::of(s.counters.errors, "error", "errors"));
    }
    remarks.join(", ")
}

/// Name a device: "disk /dev/vdb", "net shm-web0".
pub fn name(s: &Status) -> String {
    format!("{} {}", s.kind, printable(&s.name))
}

/// Describe a device: "disk /dev/vdb (id 3, 10 GiB, read-only)".
pub fn line(s: &Status) -> String {
    let read_only = if s.read_only { ", read-only" } else { "" };
    format!("{} (id {}, {}{read_only})", name(s), s.id, what(s))
}

#[cfg(test)]
mod tests {
    use super::super::{State, fake};
    use super::*;
    use crate::ui::output::tests::assert_documented;

    fn list() -> Vec<Status> {
        let mut broken = fake::disk(3, "db", "x\x1b");
        broken.state = State::Broken;
        broken.problem = "ring 0: head 900".into();
        broken.read_only = true;
        broken.counters.errors = 2;
        vec![
            fake::disk(1, "web", "/dev/vdb"),
            fake::net(2, "web", "shm-web0"),
            broken,
        ]
    }

    #[test]
    fn tables() {
        insta::assert_snapshot!(table(&list()));
        let text = table_of(&list(), "db");
        assert_eq!(text.lines().count(), 2);
        assert!(!text.contains("USER") && !text.contains("db"), "{text}");
        assert_eq!(table_of(&list(), "nobody"), "");
    }

    #[test]
    fn one_line_each() {
        let [disk, net, broken] = &list()[..] else {
            panic!()
        };
        assert_eq!(line(disk), "disk /dev/vdb (id 1, 1 MiB)");
        assert_eq!(line(net), "net shm-web0 (id 2, 52:54:00:00:00:01)");
        assert!(line(broken).ends_with("1 MiB, read-only)"));
    }

    #[test]
    fn json() {
        assert_documented(&list()[0]);
        let json = serde_json::to_value(&list()[1]).unwrap();
        assert_eq!(json["type"], "net");
        assert_eq!(json["mac"], "52:54:00:00:00:01");
        assert_eq!(json["read_bytes"], 4 << 20);
        assert_eq!(json["user_name"], "web");
    }
}
