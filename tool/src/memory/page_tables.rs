//! What an architecture's page tables have to say.

/// Where a kernel's image is, as far as it is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelImage {
    pub virt: u64,
    pub phys: u64,
    pub size: u64,
}

/// An architecture's page tables, with what the kernel says of them.
pub trait PageTables {
    /// Return the physical address behind that of an image whose place is known without
    /// them.
    fn in_image(&self, address: u64) -> Option<u64>;

    /// Return what the page tables say.
    fn walk(&self, address: u64) -> Option<u64>;

    /// Tell where the image is, in virtual and physical memory.
    fn image(&self) -> Option<KernelImage>;

    /// Tell where the kernel maps all physical memory: the address of the first byte, were
    /// that part of it. `physical` is an address that the kernel surely uses.
    fn direct_map(&self, physical: u64) -> Option<u64>;
}
