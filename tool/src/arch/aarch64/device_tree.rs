//! What a partition is told of its platform: a flattened device tree.
//!
//! It has what is the partition's and nothing else: no bus, no device of the host's.

use memchr::memmem;
use vm_fdt::{Error as FdtError, FdtWriter};

use crate::partition::{Conduit, Description, Platform, Range};

type Written = Result<(), FdtError>;

/// The interrupt controller's number, by which others refer to it.
const GIC: u32 = 1;
/// First cell of an interrupt: private to each CPU.
const PPI: u32 = 1;
/// The timers as the kernel names them, in the order of `Platform::timer`.
const TIMERS: [&str; 4] = ["sec-phys", "phys", "virt", "hyp-phys"];
/// PSCI as the kernel calls it: 64-bit CPU_ON, CPU_OFF.
const CPU_ON: u32 = 0xc400_0003;
const CPU_OFF: u32 = 0x8400_0002;

/// Eight bytes that no other property has: command lines are ASCII.
const SEED: [u8; 8] = [0xff, 0xfe, 0x53, 0x45, 0x45, 0x44, 0xfe, 0xff];

/// The same for what the kernel's generator of random numbers begins with.  Without it each system call,
/// which moves its stack by a random number, costs ten thousand instructions more for many minutes.
const ENTROPY: [u8; 64] = [0xfd; 64];

/// Behind the command line: by this the tool tells whose log it has found.
const START: &str = " shimos.start=0000000000";
const DIGITS: usize = 10;

/// Make the tree for a partition with this command line; the error says what could not be
/// written.
pub fn describe(platform: &Platform, cmdline: &str) -> Result<Description, String> {
    let failed = |e: FdtError| format!("cannot write the device tree: {e}");
    let mut blob = write(platform, cmdline).map_err(failed)?;
    let start = find(&blob, START.as_bytes())? + (START.len() - DIGITS);
    let seed = take(&mut blob, &SEED)?;
    let entropy = take(&mut blob, &ENTROPY)?;
    let offset = |at: usize| u32::try_from(at).map_err(|_| "the device tree is too large");
    Ok(Description {
        seed: offset(seed)?,
        start: offset(start)?,
        entropy: offset(entropy)?,
        blob,
    })
}

/// The place of a property that KLoader fills, emptied.
fn take(blob: &mut [u8], what: &[u8]) -> Result<usize, String> {
    let at = find(blob, what)?;
    if let Some(place) = blob.get_mut(at..at + what.len()) {
        place.fill(0);
    }
    Ok(at)
}

fn find(blob: &[u8], what: &[u8]) -> Result<usize, String> {
    memmem::rfind(blob, what).ok_or_else(|| "the device tree lacks what was put into it".into())
}

fn write(platform: &Platform, cmdline: &str) -> Result<Vec<u8>, FdtError> {
    let mut tree = FdtWriter::new()?;
    let root = tree.begin_node("")?;
    tree.property_string("compatible", "linux,dummy-virt")?;
    tree.property_string("model", "SHIMOS partition")?;
    tree.property_u32("#address-cells", 2)?;
    tree.property_u32("#size-cells", 2)?;
    tree.property_u32("interrupt-parent", GIC)?;
    chosen(&mut tree, platform, cmdline)?;
    for range in &platform.memory {
        memory(&mut tree, range)?;
    }
    cpus(&mut tree, &platform.cpus)?;
    psci(&mut tree, platform.conduit)?;
    timer(&mut tree, platform)?;
    interrupt_controller(&mut tree, platform)?;
    shared(&mut tree, &platform.shared)?;
    tree.end_node(root)?;
    tree.finish()
}

fn chosen(tree: &mut FdtWriter, platform: &Platform, cmdline: &str) -> Written {
    let node = tree.begin_node("chosen")?;
    let mut bootargs = cmdline.to_owned();
    bootargs.push_str(START);
    tree.property_string("bootargs", &bootargs)?;
    if let Some(initrd) = platform.initrd {
        tree.property_u64("linux,initrd-start", initrd.start)?;
        tree.property_u64("linux,initrd-end", initrd.end())?;
    }
    tree.property("kaslr-seed", &SEED)?;
    tree.property("rng-seed", &ENTROPY)?;
    tree.end_node(node)
}

fn memory(tree: &mut FdtWriter, range: &Range) -> Written {
    let node = tree.begin_node(&format!("memory@{:x}", range.start))?;
    tree.property_string("device_type", "memory")?;
    tree.property_array_u64("reg", &[range.start, range.size])?;
    tree.end_node(node)
}

/// Their ids have up to 40 bits.
fn cpus(tree: &mut FdtWriter, ids: &[u64]) -> Written {
    let node = tree.begin_node("cpus")?;
    tree.property_u32("#address-cells", 2)?;
    tree.property_u32("#size-cells", 0)?;
    for id in ids {
        let cpu = tree.begin_node(&format!("cpu@{id:x}"))?;
        tree.property_string("device_type", "cpu")?;
        tree.property_string("compatible", "arm,armv8")?;
        tree.property_u64("reg", *id)?;
        tree.property_string("enable-method", "psci")?;
        tree.end_node(cpu)?;
    }
    tree.end_node(node)
}

/// As version 0.1, which knows of no power-off and no reset: those would be the machine's.
fn psci(tree: &mut FdtWriter, conduit: Conduit) -> Written {
    let node = tree.begin_node("psci")?;
    tree.property_string("compatible", "arm,psci")?;
    let method = match conduit {
        Conduit::Hvc => "hvc",
        Conduit::Smc => "smc",
    };
    tree.property_string("method", method)?;
    tree.property_u32("cpu_on", CPU_ON)?;
    tree.property_u32("cpu_off", CPU_OFF)?;
    tree.end_node(node)
}

fn timer(tree: &mut FdtWriter, platform: &Platform) -> Written {
    let present = TIMERS
        .iter()
        .zip(platform.timer)
        .filter(|(_, ppi)| *ppi != 0);
    let (names, interrupts): (Vec<_>, Vec<_>) = present
        .map(|(name, ppi)| ((*name).to_owned(), [PPI, ppi, platform.timer_flags]))
        .unzip();
    let node = tree.begin_node("timer")?;
    tree.property_string("compatible", "arm,armv8-timer")?;
    tree.property_null("always-on")?;
    tree.property_array_u32("interrupts", &interrupts.concat())?;
    tree.property_string_list("interrupt-names", names)?;
    tree.end_node(node)
}

fn interrupt_controller(tree: &mut FdtWriter, platform: &Platform) -> Written {
    let (distributor, frames) = (platform.distributor, platform.redistributors);
    let node = tree.begin_node(&format!("interrupt-controller@{:x}", distributor.start))?;
    tree.property_string("compatible", "arm,gic-v3")?;
    tree.property_phandle(GIC)?;
    tree.property_null("interrupt-controller")?;
    tree.property_u32("#interrupt-cells", 3)?;
    tree.property_u32("#redistributor-regions", 1)?;
    tree.property_array_u64(
        "reg",
        &[
            distributor.start,
            distributor.size,
            frames.start,
            frames.size,
        ],
    )?;
    tree.end_node(node)
}

/// By this the agent finds what it shares with the host.
fn shared(tree: &mut FdtWriter, range: &Range) -> Written {
    let node = tree.begin_node(&format!("shimos@{:x}", range.start))?;
    tree.property_string("compatible", "shimos,partition")?;
    tree.property_array_u64("reg", &[range.start, range.size])?;
    tree.end_node(node)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::fake;
    use fdt::Fdt;

    const CMDLINE: &str = "rdinit=/shimos/init console=ttyIKC0 x=\"a b\"";

    fn described(platform: &Platform) -> Description {
        describe(platform, CMDLINE).unwrap()
    }

    fn sample() -> Platform {
        fake::platform(&fake::status("web"))
    }

    fn value<'a>(tree: &Fdt<'a>, path: &str, name: &str) -> &'a [u8] {
        let node = tree.find_node(path).unwrap();
        node.property(name)
            .unwrap_or_else(|| panic!("{path} {name}"))
            .value
    }

    fn text<'a>(tree: &Fdt<'a>, path: &str, name: &str) -> &'a str {
        let bytes = value(tree, path, name).strip_suffix(b"\0").unwrap();
        std::str::from_utf8(bytes).unwrap()
    }

    fn cells(tree: &Fdt, path: &str, name: &str) -> Vec<u32> {
        let bytes = value(tree, path, name);
        assert_eq!(bytes.len() % 4, 0);
        let cell = |c: &[u8]| u32::from_be_bytes(c.try_into().unwrap());
        bytes.chunks(4).map(cell).collect()
    }

    /// Pairs of cells.
    fn words(tree: &Fdt, path: &str, name: &str) -> Vec<u64> {
        let cells = cells(tree, path, name);
        assert_eq!(cells.len() % 2, 0);
        let word = |c: &[u32]| (u64::from(c[0]) << 32) | u64::from(c[1]);
        cells.chunks(2).map(word).collect()
    }

    #[test]
    fn what_a_kernel_reads() {
        let platform = sample();
        let description = described(&platform);
        let tree = Fdt::new(&description.blob).unwrap();
        assert_eq!(tree.total_size(), description.blob.len());
        assert_eq!(text(&tree, "/", "compatible"), "linux,dummy-virt");
        assert_eq!(text(&tree, "/", "model"), "SHIMOS partition");
        let bootargs = text(&tree, "/chosen", "bootargs");
        assert_eq!(bootargs, format!("{CMDLINE} shimos.start=0000000000"));
        let initrd = platform.initrd.unwrap();
        assert_eq!(
            words(&tree, "/chosen", "linux,initrd-start"),
            [initrd.start]
        );
        assert_eq!(words(&tree, "/chosen", "linux,initrd-end"), [initrd.end()]);
        assert_eq!(text(&tree, "/psci", "compatible"), "arm,psci");
        assert_eq!(text(&tree, "/psci", "method"), "hvc");
        assert_eq!(cells(&tree, "/psci", "cpu_on"), [0xc400_0003]);
        assert_eq!(cells(&tree, "/psci", "cpu_off"), [0x8400_0002]);
        let nodes = tree.find_node("/").unwrap().children().count();
        assert_eq!(nodes, 7, "nothing of the host's");
    }

    #[test]
    fn interrupts() {
        let mut platform = sample();
        platform.timer = [0, 14, 11, 0];
        let description = described(&platform);
        let tree = Fdt::new(&description.blob).unwrap();
        assert_eq!(text(&tree, "/timer", "compatible"), "arm,armv8-timer");
        assert_eq!(
            cells(&tree, "/timer", "interrupts"),
            [1, 14, 4, 1, 11, 4],
            "only those that there are"
        );
        assert_eq!(text(&tree, "/timer", "interrupt-names"), "phys\0virt");
        let gic = format!("/interrupt-controller@{:x}", platform.distributor.start);
        assert_eq!(text(&tree, &gic, "compatible"), "arm,gic-v3");
        assert_eq!(cells(&tree, &gic, "#interrupt-cells"), [3]);
        assert_eq!(cells(&tree, &gic, "#redistributor-regions"), [1]);
        assert_eq!(
            cells(&tree, &gic, "phandle"),
            cells(&tree, "/", "interrupt-parent")
        );
        let (own, frames) = (platform.distributor, platform.redistributors);
        assert_eq!(
            words(&tree, &gic, "reg"),
            [own.start, own.size, frames.start, frames.size]
        );
    }

    #[test]
    fn cpus_with_long_ids_and_memory_in_pieces() {
        let mut platform = sample();
        platform.conduit = Conduit::Smc;
        platform.initrd = None;
        platform.cpus = vec![0xab_0001_0203, 0x100, 0];
        platform.memory = vec![
            Range {
                start: 0x4000_0000,
                size: 0x800_0000,
            },
            Range {
                start: 0x88_0000_0000,
                size: 0x1_4000_0000,
            },
        ];
        let description = described(&platform);
        let tree = Fdt::new(&description.blob).unwrap();
        for (id, path) in [
            (0xab_0001_0203, "/cpus/cpu@ab00010203"),
            (0x100, "/cpus/cpu@100"),
            (0, "/cpus/cpu@0"),
        ] {
            assert_eq!(words(&tree, path, "reg"), [id]);
            assert_eq!(text(&tree, path, "device_type"), "cpu");
            assert_eq!(text(&tree, path, "enable-method"), "psci");
        }
        assert_eq!(tree.find_node("/cpus").unwrap().children().count(), 3);
        for range in &platform.memory {
            let path = format!("/memory@{:x}", range.start);
            assert_eq!(words(&tree, &path, "reg"), [range.start, range.size]);
            assert_eq!(text(&tree, &path, "device_type"), "memory");
        }
        assert_eq!(text(&tree, "/psci", "method"), "smc");
        let chosen = tree.find_node("/chosen").unwrap();
        assert!(chosen.property("linux,initrd-start").is_none());
        assert!(chosen.property("linux,initrd-end").is_none());
    }

    /// Where the agent looks, and where KLoader writes at each start.
    #[test]
    fn what_is_ours() {
        let platform = sample();
        let mut description = described(&platform);
        let at = description.seed as usize;
        description.blob[at..at + 8].copy_from_slice(b"RANDOM!!");
        let at = description.entropy as usize;
        assert_eq!(description.blob[at..at + 64], [0; 64]);
        description.blob[at..at + 64].copy_from_slice(&[b'E'; 64]);
        let at = description.start as usize;
        description.blob[at..at + 10].copy_from_slice(b"0000000017");
        let tree = Fdt::new(&description.blob).unwrap();
        assert_eq!(value(&tree, "/chosen", "kaslr-seed"), b"RANDOM!!");
        assert_eq!(value(&tree, "/chosen", "rng-seed"), [b'E'; 64]);
        let bootargs = text(&tree, "/chosen", "bootargs");
        assert_eq!(bootargs, format!("{CMDLINE} shimos.start=0000000017"));
        let shared = platform.shared;
        let path = format!("/shimos@{:x}", shared.start);
        assert_eq!(text(&tree, &path, "compatible"), "shimos,partition");
        assert_eq!(words(&tree, &path, "reg"), [shared.start, shared.size]);
    }

    #[test]
    fn texts_that_cannot_be_written() {
        let error = describe(&sample(), "a\0b").unwrap_err();
        assert!(error.contains("device tree"), "{error}");
    }
}
