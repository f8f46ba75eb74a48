//! The end of the kernel log that the agent's panic handler left in the area
//! shared with KLoader: `kernel/include/uapi/shimos_shared.h`.

use crate::abi;
use crate::memory::{Memory, PAGE, field_u32, field_u64};
use crate::ui::output::printable;

/// Find lines in the area of the partition called `name`.
pub fn search(memory: &dyn Memory, name: &str) -> Vec<String> {
    for range in memory.ranges() {
        // KLoader puts it near the top.
        let mut at = (range.end() & !(PAGE - 1)).checked_sub(u64::from(abi::SHARED_SIZE));
        while let Some(address) = at.filter(|a| *a >= range.start) {
            if is_area(memory, address, name) {
                return lines(memory, address + abi::LAST_LOG).unwrap_or_default();
            }
            at = address.checked_sub(PAGE);
        }
    }
    Vec::new()
}

fn is_area(memory: &dyn Memory, address: u64, name: &str) -> bool {
    let mut head = [0; 48];
    if memory.read_exact(address, &mut head).is_none() {
        return false;
    }
    let stored = head
        .get(abi::SHARED_NAME_AT as usize..)
        .and_then(|rest| rest.split(|b| *b == 0).next());
    field_u64(&head, 0) == Some(abi::SHARED_MAGIC)
        && field_u32(&head, abi::SHARED_VERSION_AT) == Some(abi::SHARED_VERSION)
        && field_u32(&head, abi::SHARED_SIZE_AT) == Some(abi::SHARED_SIZE)
        && stored == Some(name.as_bytes())
}

fn lines(memory: &dyn Memory, address: u64) -> Option<Vec<String>> {
    let mut head = [0; 4];
    memory.read_exact(address, &mut head)?;
    let length = u32::from_le_bytes(head).min(abi::LAST_LOG_LEN);
    let mut text = vec![0; length as usize];
    memory.read_exact(address + abi::LAST_LOG_TEXT_AT, &mut text)?;
    let text = String::from_utf8_lossy(&text);
    Some(text.trim_end_matches('\0').lines().map(printable).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest::sample::Image;

    #[test]
    fn found_by_name() {
        let mut image = Image::new(0x40_0000, 0x40_0000);
        let at = 0x60_0000;
        image.put(at, &abi::SHARED_MAGIC.to_le_bytes());
        image.put(at + 8, &abi::SHARED_VERSION.to_le_bytes());
        image.put(at + 12, &abi::SHARED_SIZE.to_le_bytes());
        image.put(at + 16, b"web");
        image.put(at + abi::LAST_LOG, &9u32.to_le_bytes());
        image.put(at + abi::LAST_LOG + 64, b"[1] a\n[2] not this");
        assert_eq!(search(&image, "web"), ["[1] a", "[2]"]);
        assert!(search(&image, "we").is_empty());
        image.put(at + abi::LAST_LOG, &u32::MAX.to_le_bytes());
        assert_eq!(search(&image, "web").len(), 2);
    }
}
