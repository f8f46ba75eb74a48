//! `shimos top`: what the kernels of this machine do at the moment.

pub mod draw;
pub mod rates;
pub mod screen;
pub mod snapshot;
pub mod text;
