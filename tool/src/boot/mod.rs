//! What a partition's kernel is started with: its image, command line, initrd and the modules in it.

pub mod cmdline;
pub mod cpio;
pub mod image;
pub mod initrd;
pub mod module_file;
pub mod modules;
mod stock;
