//! `shimos rt vectors`

use std::collections::BTreeMap;

use serde::Serialize;

use super::sharing::{print, sharers};
use crate::cli::Json;
use crate::error::Result;
use crate::partition::{Device, RtVector, RtVectors, Status};
use crate::ui::output;

/// Print how often each interrupt came to CPUs that programs share, and whose it was.
pub fn run(device: &dyn Device, args: &Json) -> Result<()> {
    print("vectors", &rows(&read(device)?), args, table)
}

/// The interrupts of one vector, and who had them.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Row {
    cpu: u32,
    vector: u32,
    whose: String,
    count: u64,
    /// What they are; `None`: nobody has said.
    name: Option<String>,
}

fn read(device: &dyn Device) -> Result<Vec<(Status, RtVectors)>> {
    sharers(device, |id| device.rt_vectors(id))
}

/// CPU by CPU: the host's, the layer's, then those of the programs.
fn rows(found: &[(Status, RtVectors)]) -> Vec<Row> {
    let mut cpus: BTreeMap<u32, Vec<Row>> = BTreeMap::new();
    for (status, vectors) in found {
        let cpu = vectors.cpu;
        let row = |whose: &str, vector: &RtVector| Row {
            cpu,
            vector: vector.number,
            whose: whose.into(),
            count: vector.count,
            name: vector.name.clone(),
        };
        let below = || {
            let host = format!("host:{cpu}");
            let host = vectors.host.iter().map(|vector| row(&host, vector));
            let layer = vectors.layer.iter().map(|vector| row("layer", vector));
            host.chain(layer).collect()
        };
        let rows = cpus.entry(cpu).or_insert_with(below);
        rows.extend(vectors.program.iter().map(|v| row(&status.name, v)));
    }
    cpus.into_values().flatten().collect()
}

fn table(rows: &[Row]) -> String {
    let head = ["CPU", "VECTOR", "WHOSE", "COUNT", "NAME"];
    let mut lines = vec![head.map(String::from).to_vec()];
    for row in rows {
        lines.push(vec![
            row.cpu.to_string(),
            format!("{:#04x}", row.vector),
            row.whose.clone(),
            row.count.to_string(),
            row.name.clone().unwrap_or("-".into()),
        ]);
    }
    output::table(&lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::fake::{self, Fake};

    fn on(fake: &Fake, name: &str, cpu: u32) {
        fake.add(Status {
            cpus: vec![cpu],
            ..fake::rt_status(name)
        });
    }

    #[test]
    fn nobody_shares() {
        assert_eq!(rows(&read(&Fake::with(&["web"])).unwrap()), []);
    }

    #[test]
    fn whose_they_are() {
        let fake = Fake::with(&["web"]);
        on(&fake, "ctl", 1);
        let rows = rows(&read(&fake).unwrap());
        assert_eq!(
            table(&rows).lines().collect::<Vec<_>>(),
            [
                "CPU  VECTOR  WHOSE   COUNT  NAME",
                "1    0x22    host:1  7      -",
                "1    0xec    host:1  1200   LOC",
                "1    0xf2    layer   5000   timer",
                "1    0xf1    layer   6      bell",
                "1    0x20    ctl     3800   timer",
            ]
        );
        let json = serde_json::to_value(&rows).unwrap();
        assert_eq!(
            json[1],
            serde_json::json!({
                "cpu": 1, "vector": 0xec, "whose": "host:1", "count": 1200, "name": "LOC"
            })
        );
        assert!(json[0]["name"].is_null());
    }

    #[test]
    fn cpu_by_cpu() {
        let fake = Fake::default();
        for (name, cpu) in [("b", 3), ("a", 0), ("c", 3)] {
            on(&fake, name, cpu);
        }
        let rows = rows(&read(&fake).unwrap());
        let whose: Vec<&str> = rows.iter().map(|row| row.whose.as_str()).collect();
        assert_eq!(whose[..5], ["host:0", "host:0", "layer", "layer", "a"]);
        assert_eq!(whose[5..], ["host:3", "host:3", "layer", "layer", "b", "c"]);
    }
}
