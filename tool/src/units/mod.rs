//! Values with a form of their own: how they are read, checked and written. None of it knows partitions.

pub mod budget;
pub mod bytes;
pub mod count;
pub mod cpulist;
pub mod duration;
pub mod memory_file;
pub mod name;
pub mod pci_address;
pub mod percent;
pub mod size;
