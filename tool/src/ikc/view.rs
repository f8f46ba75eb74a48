//! What `shimos show` and `shimos ikc` tell about queues and the shared area.

use serde::Serialize;
use shimos_ikc::abi::ECHO_CHANNEL;
use shimos_ikc::{Area, Device, Kernel, Queue, State};

use crate::error::Result;
use crate::ui::output::{self, printable};
use crate::units::{count, size};

/// The kernels, queues and area of this moment.
pub struct View {
    pub kernels: Vec<Kernel>,
    pub queues: Vec<Queue>,
    pub area: Area,
}

impl View {
    /// Ask for all kernels, queues and the shared area.
    pub fn read() -> Result<Self, shimos_ikc::Error> {
        let device = Device::open()?;
        Ok(Self {
            kernels: device.kernels()?,
            queues: device.queues()?,
            area: device.area()?,
        })
    }

    /// Read it for whom it is a detail only: nothing if this kernel has no IKC, and no more
    /// than a note if something is wrong with it.
    pub fn read_if_there() -> Option<Self> {
        use shimos_ikc::Error;
        match Self::read() {
            Ok(view) => Some(view),
            Err(Error::NoDevice | Error::NotPart) => None,
            Err(error) => {
                output::note(format_args!("cannot show the queues: {error}"));
                None
            }
        }
    }

    fn name(&self, number: u32) -> String {
        let kernel = self.kernels.iter().find(|k| k.number == number);
        kernel.map_or_else(|| format!("kernel {number}"), |k| printable(&k.name))
    }

    /// The number of the kernel called `name`.
    fn number(&self, name: &str) -> Option<u32> {
        let kernel = self.kernels.iter().find(|k| k.name == name);
        kernel.map(|k| k.number)
    }

    /// The queues from and to the kernel called `name`.
    fn queues_of(&self, name: &str) -> Vec<&Queue> {
        let Some(number) = self.number(name) else {
            return Vec::new();
        };
        let its = |q: &&Queue| q.receiver == number || q.sender == number;
        self.queues.iter().filter(its).collect()
    }

    /// Return, for JSON, the queues from and to the kernel called `name`.
    pub fn json_of(&self, name: &str) -> Vec<QueueJson> {
        let queues = self.queues_of(name);
        queues.into_iter().map(|q| self.queue_json(q)).collect()
    }

    /// Return, for JSON, all queues.
    pub fn all_json(&self) -> Vec<QueueJson> {
        self.queues.iter().map(|q| self.queue_json(q)).collect()
    }

    fn queue_json(&self, queue: &Queue) -> QueueJson {
        QueueJson {
            receiver: self.name(queue.receiver),
            receiver_number: queue.receiver,
            sender: self.name(queue.sender),
            sender_number: queue.sender,
            queue: queue.number,
            channel: queue.channel(),
            slots: queue.slots,
            slot_size: queue.slot_size,
            packets: queue.packets,
            doorbells: queue.rung,
            doorbells_saved: queue.saved,
            full: queue.full,
            has_sender: queue.attached,
            broken: queue.broken,
        }
    }

    /// Write the queues from and to the kernel called `name` as a table, as that one sees
    /// them; empty if there are none.
    pub fn table_of(&self, name: &str) -> String {
        let number = self.number(name);
        self.table("PEER", self.queues_of(name), |q| {
            match Some(q.receiver) == number {
                true => format!("from {}", self.name(q.sender)),
                false => format!("to {}", self.name(q.receiver)),
            }
        })
    }

    /// Write all queues as a table; empty if there are none.
    pub fn table_of_all(&self) -> String {
        self.table("DIRECTION", self.queues.iter().collect(), |q| {
            format!("{} to {}", self.name(q.sender), self.name(q.receiver))
        })
    }

    fn table(&self, first: &str, queues: Vec<&Queue>, who: impl Fn(&Queue) -> String) -> String {
        if queues.is_empty() {
            return String::new();
        }
        let head = [
            first,
            "QUEUE",
            "SLOTS",
            "PACKETS",
            "DOORBELLS",
            "SAVED",
            "FULL",
            "NOTE",
        ];
        let mut rows = vec![head.map(String::from).to_vec()];
        for q in queues {
            rows.push(vec![
                who(q),
                what(q),
                format!("{} x {}", q.slots, q.slot_size),
                q.packets.to_string(),
                q.rung.to_string(),
                q.saved.to_string(),
                q.full.to_string(),
                remark(q),
            ]);
        }
        output::table(&rows)
    }

    /// Write all kernels as a table.
    pub fn kernel_table(&self) -> String {
        let mut rows = vec![["NUMBER", "NAME", "STATE"].map(String::from).to_vec()];
        for kernel in &self.kernels {
            let mut state = state_name(kernel).to_string();
            if kernel.is_self {
                state.push_str(" (this one)");
            }
            rows.push(vec![
                kernel.number.to_string(),
                printable(&kernel.name),
                state,
            ]);
        }
        output::table(&rows)
    }

    /// Return, for JSON, all kernels.
    pub fn kernels_json(&self) -> Vec<KernelJson> {
        let json = |kernel: &Kernel| KernelJson {
            number: kernel.number,
            name: kernel.name.clone(),
            state: state_name(kernel),
            this_one: kernel.is_self,
        };
        self.kernels.iter().map(json).collect()
    }

    /// Return, for JSON, the shared area.
    pub fn area_json(&self) -> AreaJson {
        AreaJson {
            bytes: self.area.bytes,
            used: self.area.used,
            blocks: self.area.blocks,
            failed_allocations: self.area.failed,
            too_large: self.area.too_large,
            double_frees: self.area.double_free,
            foreign_frees: self.area.foreign_free,
            reclaimed_blocks: self.area.reclaimed,
        }
    }

    /// Write one line about the area, and what went wrong, if anything did.
    pub fn area_text(&self) -> String {
        let area = &self.area;
        let mut text = format!(
            "{}, {} used in {}",
            size::show(area.bytes),
            size::show(area.used),
            count::of(area.blocks, "block", "blocks")
        );
        for (number, noun, nouns, what) in [
            (area.failed, "allocation", "allocations", "failed"),
            (area.too_large, "request", "requests", "for too much"),
            (area.double_free, "double free", "double frees", "refused"),
            (
                area.foreign_free,
                "foreign free",
                "foreign frees",
                "refused",
            ),
            (
                area.reclaimed,
                "block",
                "blocks",
                "taken back from dead kernels",
            ),
        ] {
            if number != 0 {
                text.push_str(&format!(", {} {what}", count::of(number, noun, nouns)));
            }
        }
        text
    }
}

/// Name a kernel's state. Up means that it takes packets, too.
pub fn state_name(kernel: &Kernel) -> &'static str {
    match kernel.state {
        State::Up if kernel.ready => "up",
        State::Up => "not joined",
        State::Down => "down",
        State::Absent | State::Unknown => "unknown",
    }
}

/// The queue, in the words of those who use it.
fn what(queue: &Queue) -> String {
    match queue.channel() {
        Some(ECHO_CHANNEL) => "echo".into(),
        Some(channel) => format!("channel {channel}"),
        None => format!("kernel queue {}", queue.number),
    }
}

fn remark(queue: &Queue) -> String {
    match (queue.broken, queue.attached) {
        (true, _) => "broken: its sender wrote nonsense".into(),
        (false, false) => "no sender".into(),
        (false, true) => String::new(),
    }
}

/// A queue as docs/json.md describes it.
#[derive(Debug, Serialize)]
pub struct QueueJson {
    receiver: String,
    receiver_number: u32,
    sender: String,
    sender_number: u32,
    queue: u32,
    /// The user programs' number; null: a queue of the kernel's.
    channel: Option<u32>,
    slots: u32,
    slot_size: u32,
    packets: u64,
    doorbells: u64,
    doorbells_saved: u64,
    full: u64,
    has_sender: bool,
    broken: bool,
}

/// A kernel as docs/json.md describes it.
#[derive(Debug, Serialize)]
pub struct KernelJson {
    number: u32,
    name: String,
    state: &'static str,
    this_one: bool,
}

/// The shared area as docs/json.md describes it.
#[derive(Debug, Serialize)]
pub struct AreaJson {
    bytes: u64,
    used: u64,
    blocks: u64,
    failed_allocations: u64,
    too_large: u64,
    double_frees: u64,
    foreign_frees: u64,
    reclaimed_blocks: u64,
}

/// Make three kernels with a few queues.
#[cfg(test)]
pub fn example() -> View {
    let kernel = |number, name: &str, state, ready| Kernel {
        number,
        name: name.into(),
        state,
        ready,
        is_self: number == 0,
        life: 1,
    };
    let queue = |receiver, sender, number, packets| Queue {
        receiver,
        sender,
        number,
        slots: 16,
        slot_size: 4096,
        attached: true,
        packets,
        rung: 3,
        saved: 7,
        ..Queue::default()
    };
    View {
        kernels: vec![
            kernel(0, "host", State::Up, true),
            kernel(1, "web", State::Up, true),
            kernel(2, "db", State::Down, false),
        ],
        queues: vec![
            queue(0, 1, 0, 10),
            Queue {
                broken: true,
                full: 2,
                ..queue(0, 2, 33, 5)
            },
            Queue {
                attached: false,
                ..queue(1, 0, 63, 0)
            },
        ],
        area: Area {
            bytes: 2 << 20,
            used: 68 << 10,
            blocks: 12,
            ..Area::default()
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::output::tests::assert_documented;

    #[test]
    fn one_kernel_s_queues() {
        insta::assert_snapshot!(example().table_of("web"));
        assert_eq!(example().table_of("nobody"), "");
        assert_eq!(example().json_of("nobody").len(), 0);
    }

    #[test]
    fn all_queues() {
        insta::assert_snapshot!(example().table_of_all());
    }

    #[test]
    fn json_has_names_and_numbers() {
        assert_documented(&example().json_of("db")[0]);
        assert_documented(&example().kernels_json()[0]);
        assert_documented(&example().area_json());
        insta::assert_snapshot!(serde_json::to_string_pretty(&example().json_of("db")).unwrap());
    }

    #[test]
    fn kernels_and_area() {
        let mut view = example();
        view.kernels[1].ready = false;
        insta::assert_snapshot!(view.kernel_table());
        assert_eq!(view.area_text(), "2 MiB, 68 KiB used in 12 blocks");
        view.area.failed = 3;
        assert!(view.area_text().ends_with("blocks, 3 allocations failed"));
    }
}
