//! An image that KLoader takes for a kernel and that only halts: for a CPU's way without one.

use object::elf::{
    ELFCLASS64, ELFDATA2LSB, ELFMAG, EM_X86_64, ET_EXEC, EV_CURRENT, FileHeader64, Ident, PF_R,
    PF_X, PT_LOAD, ProgramHeader64,
};
use object::{LittleEndian as LE, U16, U32, U64, pod};

/// Where a kernel is linked to.
const ADDRESS: u64 = 16 << 20;
/// Where the text is in the file.
const TEXT: usize = 4096;
const LENGTH: usize = 2 * TEXT;
/// cli; 1: hlt; jmp 1b
const CODE: [u8; 4] = [0xfa, 0xf4, 0xeb, 0xfd];
/// By this a kernel is known.
const BANNER: &[u8] = b"Linux version 0-selftest \0";

/// Make it: a static x86-64 executable of one segment.
pub fn image() -> Vec<u8> {
    let header = FileHeader64::<LE> {
        e_ident: Ident {
            magic: ELFMAG,
            class: ELFCLASS64,
            data: ELFDATA2LSB,
            version: EV_CURRENT,
            os_abi: 0,
            abi_version: 0,
            padding: [0; 7],
        },
        e_type: U16::new(LE, ET_EXEC),
        e_machine: U16::new(LE, EM_X86_64),
        e_version: U32::new(LE, EV_CURRENT.into()),
        e_entry: U64::new(LE, ADDRESS),
        e_phoff: U64::new(LE, size_of::<FileHeader64<LE>>() as u64),
        e_shoff: U64::new(LE, 0),
        e_flags: U32::new(LE, 0),
        e_ehsize: U16::new(LE, size_of::<FileHeader64<LE>>() as u16),
        e_phentsize: U16::new(LE, size_of::<ProgramHeader64<LE>>() as u16),
        e_phnum: U16::new(LE, 1),
        e_shentsize: U16::new(LE, 0),
        e_shnum: U16::new(LE, 0),
        e_shstrndx: U16::new(LE, 0),
    };
    let segment = ProgramHeader64::<LE> {
        p_type: U32::new(LE, PT_LOAD),
        p_flags: U32::new(LE, PF_R | PF_X),
        p_offset: U64::new(LE, TEXT as u64),
        p_vaddr: U64::new(LE, ADDRESS),
        p_paddr: U64::new(LE, ADDRESS),
        p_filesz: U64::new(LE, (LENGTH - TEXT) as u64),
        p_memsz: U64::new(LE, (LENGTH - TEXT) as u64),
        p_align: U64::new(LE, TEXT as u64),
    };
    let mut file = [pod::bytes_of(&header), pod::bytes_of(&segment)].concat();
    file.resize(TEXT, 0);
    file.extend(CODE);
    file.extend(BANNER);
    file.resize(LENGTH, 0);
    file
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::X86_64;
    use crate::boot::image::open_as;

    #[test]
    fn the_tool_takes_it_for_a_kernel() {
        let work = tempfile::tempdir().unwrap();
        let path = work.path().join("halt");
        std::fs::write(&path, image()).unwrap();
        let (_, found) = open_as(&X86_64, &path).unwrap();
        assert_eq!(found.version, "0-selftest");
    }
}
