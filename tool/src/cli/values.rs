//! Values of options that are more than a number or a name.

use std::path::PathBuf;

use clap::builder::{PathBufValueParser, TypedValueParser};

use crate::abi;
use crate::units::{cpulist, size};

/// A whole list as one value; clap takes a plain `Vec` for repeated options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuList(pub Vec<u32>);

/// Reads a list of CPUs as one value.
#[derive(Clone)]
pub struct CpuListParser;

impl TypedValueParser for CpuListParser {
    type Value = CpuList;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<Self::Value, clap::Error> {
        let parse = |text: &str| cpulist::parse(text).map(CpuList);
        TypedValueParser::parse_ref(&parse, command, arg, value)
    }
}

/// Read a variable of an environment.
pub fn variable(text: &str) -> Result<String, String> {
    match text.split_once('=') {
        Some((key, _)) if !key.is_empty() => Ok(text.into()),
        _ => Err("write KEY=VALUE".into()),
    }
}

/// Read how many CPUs; a list of them has an option of its own.
pub fn cpu_count(text: &str) -> Result<u32, String> {
    match (text.parse(), cpulist::parse(text)) {
        (Ok(0), _) => Err("a partition has at least one CPU".into()),
        (Ok(count), _) => Ok(count),
        (_, Ok(_)) => Err(format!(
            "that is a list of CPUs: write --cpuset {text}; --cpus says how many"
        )),
        _ => Err("that is no number of CPUs: write 2, or --cpuset 2-3 for these two".into()),
    }
}

/// More of something, or fewer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference<T> {
    More(T),
    Fewer(T),
}

fn difference<T>(
    text: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Difference<T>, String> {
    match text.split_at_checked(1) {
        Some(("+", rest)) => parse(rest).map(Difference::More),
        Some(("-", rest)) => parse(rest).map(Difference::Fewer),
        _ => Err(format!("it begins with + for more or - for fewer: +{text}")),
    }
}

/// Read by how many CPUs a partition is to grow or shrink: +2 or -1.
pub fn cpu_difference(text: &str) -> Result<Difference<u32>, String> {
    difference(text, |rest| match rest.parse() {
        Ok(0) => Err("0 CPUs make no difference".into()),
        Ok(count) => Ok(count),
        Err(_) => Err("that is no number of CPUs: write +2, or --cpuset +2-3 for these two".into()),
    })
}

/// Read which CPUs a partition is to get or lose: +4-5 or -4.
pub fn cpuset_difference(text: &str) -> Result<Difference<CpuList>, String> {
    difference(text, |rest| cpulist::parse(rest).map(CpuList))
}

/// Read by how much memory a partition is to grow or shrink: +512M or -1G.
pub fn memory_difference(text: &str) -> Result<Difference<u64>, String> {
    difference(text, size::parse)
}

/// Read a real-time program's priority, within KLoader's limits.
pub fn priority() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32)
        .range(i64::from(abi::RT_MIN_PRIORITY)..=i64::from(abi::RT_MAX_PRIORITY))
}

/// A file for a picture, which says by its name what it shall be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    pub file: PathBuf,
    pub format: Format,
}

/// How a picture is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Svg,
    Png,
}

/// Read the name of a picture's file.
pub fn picture() -> impl TypedValueParser<Value = Picture> {
    PathBufValueParser::new().try_map(Picture::new)
}

impl Picture {
    /// Find the format by the name's end, which must be `.svg` or `.png`.
    pub fn new(file: PathBuf) -> Result<Self, String> {
        let extension = file.extension().unwrap_or_default();
        let format = match extension.to_ascii_lowercase().as_encoded_bytes() {
            b"svg" => Format::Svg,
            b"png" => Format::Png,
            _ => {
                return Err(
                    "a picture is an SVG or a PNG: let the name end in .svg or .png".into(),
                );
            }
        };
        Ok(Picture { file, format })
    }
}

/// Read the same, or 0 for none.
pub fn priority_or_none() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(0..=i64::from(abi::RT_MAX_PRIORITY))
}

/// The byte that ends `shimos console`; `None`: no byte does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DetachKey(pub Option<u8>);

impl DetachKey {
    /// Name the key as a user does: `Ctrl-]`; `None`: there is none.
    pub fn shown(self) -> Option<String> {
        let key = self.0?;
        Some(match key {
            0..32 => format!("Ctrl-{}", (key + 64) as char),
            127 => "Ctrl-?".into(),
            _ => (key as char).to_string(),
        })
    }
}

/// Read a key: `^]`, a character, or `none`. The error says what it can be.
pub fn detach_key(text: &str) -> Result<DetachKey, String> {
    let key = match text.as_bytes() {
        b"none" => None,
        [b'^', b'?'] => Some(127),
        [b'^', key] if (64..96).contains(&key.to_ascii_uppercase()) => {
            Some(key.to_ascii_uppercase() & 31)
        }
        [key] if key.is_ascii() => Some(*key),
        _ => {
            return Err("a key is one character, ^ and a character for Ctrl, or \"none\"".into());
        }
    };
    Ok(DetachKey(key))
}
