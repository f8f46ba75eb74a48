//! From a kernel's virtual addresses to physical ones.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::arch::{ALL, Architecture};
use crate::memory::page_tables::{KernelImage, PageTables};
use crate::memory::vmcoreinfo::Vmcoreinfo;
use crate::memory::{Memory, PAGE};

/// More cached translations than any log needs.
const MAX_CACHED: usize = 1 << 16;

/// A kernel's virtual memory.
pub struct AddressSpace<'a> {
    pub memory: &'a dyn Memory,
    /// Whose kernel it is.
    pub architecture: &'static Architecture,
    tables: Box<dyn PageTables + 'a>,
    cache: RefCell<HashMap<u64, u64>>,
}

impl<'a> AddressSpace<'a> {
    /// Find the page tables. Each architecture's kernels say other things of themselves, by
    /// which they are known.
    pub fn new(memory: &'a dyn Memory, info: &Vmcoreinfo) -> Option<Self> {
        let known = |architecture: &'static Architecture| {
            (architecture.page_tables)(memory, info).map(|tables| (architecture, tables))
        };
        let (architecture, tables) = ALL.into_iter().find_map(known)?;
        Some(AddressSpace {
            memory,
            architecture,
            tables,
            cache: RefCell::new(HashMap::new()),
        })
    }

    /// Tell where the image is, in virtual and physical memory.
    pub fn image(&self) -> Option<KernelImage> {
        self.tables.image()
    }

    /// Tell where all physical memory is mapped, by an address that the kernel surely uses.
    pub fn direct_map(&self, physical: u64) -> Option<u64> {
        self.tables.direct_map(physical)
    }

    /// Return the physical address; that something is there is not said.
    pub fn translate(&self, address: u64) -> Option<u64> {
        if let Some(found) = self.tables.in_image(address) {
            return Some(found);
        }
        let page = address & !(PAGE - 1);
        if let Some(found) = self.cache.borrow().get(&page) {
            return Some(found + (address - page));
        }
        let found = self.tables.walk(page)?;
        let mut cache = self.cache.borrow_mut();
        if cache.len() < MAX_CACHED {
            cache.insert(page, found);
        }
        Some(found + (address - page))
    }

    /// Fill the buffer from a virtual address; `None`: not all of it is there.
    pub fn read(&self, address: u64, buffer: &mut [u8]) -> Option<()> {
        let mut done = 0;
        while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let at = address.checked_add(done as u64)?;
            let left = (PAGE - at % PAGE) as usize;
            let len = rest.len().min(left);
            let physical = self.translate(at)?;
            self.memory.read_exact(physical, rest.get_mut(..len)?)?;
            done += len;
        }
        Some(())
    }

    /// Read a number at a virtual address; `None`: it is not there.
    pub fn u64(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)?;
        Some(u64::from_le_bytes(bytes))
    }
}
