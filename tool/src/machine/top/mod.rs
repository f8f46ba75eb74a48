//! `shimos top`: what the kernels of this machine do at the moment.

pub mod draw;
pub mod plain;
pub mod screen;
pub mod text;
