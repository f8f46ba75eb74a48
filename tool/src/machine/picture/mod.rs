//! The machine as a picture of characters.

pub mod letters;
pub mod look;
pub mod map;
pub mod print;
