//! `shimos pool`

use std::path::Path;

use serde::Serialize;

use crate::cli;
use crate::error::Result;
use crate::oci::settings::{self, Settings};
use crate::oci::slot::{Slot, Slots};
use crate::oci::{pool, record};
use crate::ui::output::{self, printable};
use crate::units::{cpulist, size};

/// A warm partition, as --json prints it.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Listed {
    #[serde(flatten)]
    slot: Slot,
    /// Who has it.
    container: Option<String>,
}

/// Do what the command line says with the pool of the runtime's usual root.
pub fn run(command: &cli::Pool) -> Result<()> {
    let root = Path::new(record::ROOT);
    match command {
        cli::Pool::Keep => pool::keep(root, &Settings::read(Path::new(settings::FILE))?),
        cli::Pool::Drain => pool::drain(root),
        cli::Pool::Ls(args) => {
            let list = listed(&Slots::of(root));
            match args.json {
                true => output::json_list("pool", &list),
                false => output::line(table(&list)),
            }
        }
    }
}

fn listed(slots: &Slots) -> Vec<Listed> {
    let ready = slots.ready().into_iter().map(|slot| Listed {
        slot,
        container: None,
    });
    let taken = slots.taken().into_iter().map(|(id, slot)| Listed {
        slot,
        container: Some(id),
    });
    ready.chain(taken).collect()
}

fn table(list: &[Listed]) -> String {
    let head = ["NAME", "CPUS", "MEMORY", "KERNEL", "CONTAINER"].map(String::from);
    let row = |listed: &Listed| {
        let slot = &listed.slot;
        vec![
            printable(&slot.name),
            cpulist::show(&slot.cpus),
            size::show(slot.memory),
            output::shown(&slot.kernel),
            listed.container.as_deref().map_or("-".into(), printable),
        ]
    };
    let rows: Vec<Vec<String>> = std::iter::once(head.to_vec())
        .chain(list.iter().map(row))
        .collect();
    output::table(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_they_look() {
        let slot = Slot {
            name: "oci-warm-1".into(),
            kernel: "/boot/vmlinuz-6.12".into(),
            cpus: vec![2, 3],
            memory: 512 << 20,
            cid: 7,
        };
        let list = [
            Listed {
                slot: slot.clone(),
                container: None,
            },
            Listed {
                slot,
                container: Some("c1".into()),
            },
        ];
        insta::assert_snapshot!(table(&list));
        output::tests::assert_documented(&list[1]);
    }
}
