//! Between the tool and who uses it: what is printed, the terminal, and signals that end a command.

pub mod check;
pub mod interrupt;
pub mod output;
pub mod progress;
pub mod refusal;
pub mod terminal;
