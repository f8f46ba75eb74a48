//! Where a PCI device is.

use std::fmt;

/// Where a function is, as Linux and lspci write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    pub segment: u16,
    pub bus: u8,
    pub device: u8,
    pub function: u8,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:04x}:{:02x}:{:02x}.{:x}",
            self.segment, self.bus, self.device, self.function
        )
    }
}

/// A function that a partition is to have whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    pub address: Address,
    /// No IOMMU need keep it to its partition's memory.
    pub is_unsafe: bool,
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.is_unsafe { ",unsafe" } else { "" };
        write!(f, "{}{word}", self.address)
    }
}

/// Read which function to give, for clap: an address, and perhaps `,unsafe` behind it.
pub fn given(text: &str) -> Result<Given, String> {
    let (address, word) = text.split_once(',').unwrap_or((text, ""));
    let address = parse(address)?;
    match word {
        "" if !text.ends_with(',') => Ok(Given {
            address,
            is_unsafe: false,
        }),
        "unsafe" => Ok(Given {
            address,
            is_unsafe: true,
        }),
        _ => Err(format!(
            "{word:?} behind a PCI address means nothing; {address},unsafe gives it without an IOMMU"
        )),
    }
}

/// Read an address, for clap and files: `0000:01:00.0`, or without the segment.
pub fn parse(text: &str) -> Result<Address, String> {
    address(text)
        .ok_or_else(|| format!("{text:?} is no PCI address; lspci -D shows them: 0000:01:00.0"))
}

fn address(text: &str) -> Option<Address> {
    let (place, function) = text.split_once('.')?;
    let (segment, bus, device) = match place.split(':').collect::<Vec<_>>()[..] {
        [segment, bus, device] => (hex(segment, 4)?, bus, device),
        [bus, device] => (0, bus, device),
        _ => return None,
    };
    let address = Address {
        segment,
        bus: u8::try_from(hex(bus, 2)?).ok()?,
        device: u8::try_from(hex(device, 2)?).ok()?,
        function: u8::try_from(hex(function, 1)?).ok()?,
    };
    (address.device < 32 && address.function < 8).then_some(address)
}

fn hex(text: &str, most: usize) -> Option<u16> {
    let fits = (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit());
    fits.then(|| u16::from_str_radix(text, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_or_without_an_iommu() {
        let read = |text| given(text).map(|given| given.to_string());
        assert_eq!(read("01:00.0"), Ok("0000:01:00.0".into()));
        assert_eq!(read("01:00.0,unsafe"), Ok("0000:01:00.0,unsafe".into()));
        for bad in ["01:00.0,", "01:00.0,safe", "01:00.0,unsafe,unsafe"] {
            assert!(
                read(bad).unwrap_err().contains("0000:01:00.0,unsafe"),
                "{bad}"
            );
        }
        assert!(read("eth0,unsafe").unwrap_err().contains("lspci"));
    }

    #[test]
    fn addresses() {
        let a = parse("0000:01:1f.7").unwrap();
        assert_eq!((a.segment, a.bus, a.device, a.function), (0, 1, 31, 7));
        assert_eq!(a.to_string(), "0000:01:1f.7");
        assert_eq!(parse("01:1f.7"), Ok(a));
        assert_eq!(parse("abcd:ff:00.0").unwrap().to_string(), "abcd:ff:00.0");
        for bad in [
            "",
            "01:00",
            "1:2:3:4.0",
            "0:20.0",
            "01:00.8",
            "01:00.0x",
            "+1:00.0",
            "10000:01:00.0",
            "eth0",
        ] {
            assert!(parse(bad).unwrap_err().contains("lspci"), "{bad}");
        }
    }
}
