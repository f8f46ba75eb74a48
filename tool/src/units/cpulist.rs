//! Lists of CPUs as Linux writes them: `2-3`, `1,4-7`.

use std::fmt::Write;

/// No machine has more; keeps a typing error from asking for much memory.
const MAX_CPU: u32 = 8191;

/// Read CPUs in the order given (the first one boots the partition).
pub fn parse(text: &str) -> Result<Vec<u32>, String> {
    let mut cpus = Vec::new();
    if text.trim().is_empty() {
        return Err("the CPU list is empty: write 2-3 or 1,4-7".into());
    }
    for part in text.split(',') {
        let part = part.trim();
        if part.is_empty() {
            return Err(format!(
                "CPU list '{text}': there is nothing between two commas"
            ));
        }
        let (first, last) = match part.split_once('-') {
            Some((first, last)) => (number(first, text)?, number(last, text)?),
            None => {
                let cpu = number(part, text)?;
                (cpu, cpu)
            }
        };
        if first > last {
            return Err(format!(
                "CPU list '{text}': the range {part} runs backwards, write {last}-{first}"
            ));
        }
        for cpu in first..=last {
            if cpus.contains(&cpu) {
                return Err(format!("CPU list '{text}': CPU {cpu} is named twice"));
            }
            cpus.push(cpu);
        }
    }
    Ok(cpus)
}

fn number(text: &str, list: &str) -> Result<u32, String> {
    let text = text.trim();
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!(
            "CPU list '{list}': '{text}' is no CPU number: write 2-3 or 1,4-7"
        ));
    }
    match text.parse() {
        Ok(cpu) if cpu <= MAX_CPU => Ok(cpu),
        _ => Err(format!(
            "CPU list '{list}': CPU {text} is more than Linux can have ({MAX_CPU})"
        )),
    }
}

/// Write the list as Linux does, ranges joined where they follow each other.
pub fn show(cpus: &[u32]) -> String {
    let mut text = String::new();
    let mut rest = cpus.iter().copied().peekable();
    while let Some(first) = rest.next() {
        let mut last = first;
        while let Some(next) = rest.next_if(|next| last.checked_add(1) == Some(*next)) {
            last = next;
        }
        if !text.is_empty() {
            text.push(',');
        }
        let _ = if first == last {
            write!(text, "{first}")
        } else {
            write!(text, "{first}-{last}")
        };
    }
    text
}

/// Name them: "CPU 2", "CPUs 2-3".
pub fn named(cpus: &[u32]) -> String {
    let plural = if cpus.len() == 1 { "" } else { "s" };
    format!("CPU{plural} {}", show(cpus))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::tests::errors;

    #[test]
    fn good_lists() {
        for (text, cpus) in [
            ("2", vec![2]),
            ("2-3", vec![2, 3]),
            (" 3 , 1 ", vec![3, 1]),
            ("1,4-6", vec![1, 4, 5, 6]),
            ("5-5", vec![5]),
        ] {
            assert_eq!(parse(text), Ok(cpus), "{text}");
        }
    }

    #[test]
    fn bad_lists() {
        let text = errors(
            &[
                "",
                " ",
                "2,,3",
                "2,",
                "3-2",
                "2,2",
                "1-3,2",
                "a",
                "2-",
                "-2",
                "1-2-3",
                "+2",
                "0x2",
                "8192",
                "99999999999999999999",
                "0-4294967295",
            ],
            parse,
        );
        insta::assert_snapshot!(text);
    }

    #[test]
    fn shown() {
        assert_eq!(show(&[]), "");
        assert_eq!(show(&[2, 3]), "2-3");
        assert_eq!(named(&[2]), "CPU 2");
        assert_eq!(named(&[2, 3]), "CPUs 2-3");
        assert_eq!(show(&[3, 1, 2, 7]), "3,1-2,7");
        assert_eq!(show(&[u32::MAX]), "4294967295");
    }
}
