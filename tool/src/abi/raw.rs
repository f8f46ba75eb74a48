//! The structures and calls, field for field as in the C header.

use std::fs::File;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use nix::errno::Errno;

pub const ABI_VERSION: u32 = 10;
pub const NAME_LEN: usize = 32;
pub const CMDLINE_LEN: usize = 1536;
pub const ERROR_LEN: usize = 512;
pub const MAX_RANGES: usize = 16;
pub const MAX_CPUS: usize = 64;

pub const CREATE_RESTART: u32 = 1 << 0;
pub const CREATE_PROTECTED: u32 = 1 << 1;
pub const CREATE_GUARDED: u32 = 1 << 2;
pub const CREATE_RENEW: u32 = 1 << 3;
pub const START_NO_AGENT: u32 = 1 << 0;
pub const STATUS_NEXT: u32 = 1 << 0;
pub const CAN_STOP_CPUS: u32 = 1 << 0;
pub const NEEDS_DESCRIPTION: u32 = 1 << 1;

pub const KIND_LINUX: u32 = 0;
pub const KIND_RT: u32 = 1;

pub const RT_MIN_PERIOD_NS: u64 = 100_000;
pub const RT_MAX_PERIOD_NS: u64 = 1_000_000_000;
pub const RT_MIN_BUDGET_NS: u64 = 10_000;
pub const RT_MAX_BUDGET_PERCENT: u64 = 95;
pub const RT_DEFAULT_PERIOD_NS: u64 = 10_000_000;

pub const RT_MIN_PRIORITY: u32 = 1;
pub const RT_MAX_PRIORITY: u32 = 99;

pub const RT_VECTORS: usize = 256;

pub const RT_LATENCY_STEPS: usize = 32;
pub const RT_LATENCY_BUCKETS: usize = 545;

pub(super) const MAGIC: u8 = 0xB7;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Header {
    pub size: u32,
    pub version: u32,
}

/// A structure that starts with a `Header` and for which all bits zero is a
/// valid value.
///
/// # Safety
/// Only for `repr(C)` structures of integers and arrays of integers whose
/// first field is the header.
pub unsafe trait Argument: Sized {
    /// The version of the interface that the structure belongs to.
    const VERSION: u32 = ABI_VERSION;

    /// Make one that is all zero but for the header.
    fn new() -> Self {
        // SAFETY: the trait's contract: all zero is valid for integers.
        let mut argument: Self = unsafe { std::mem::zeroed() };
        let header = Header {
            size: size_of::<Self>() as u32,
            version: Self::VERSION,
        };
        // SAFETY: the trait's contract: the first field is a Header.
        unsafe { (&raw mut argument).cast::<Header>().write(header) };
        argument
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Info {
    pub hdr: Header,
    pub memory_min: u64,
    pub memory_align: u64,
    pub partitions: u32,
    pub host_ok: u32,
    pub capabilities: u32,
    pub rt_ok: u32,
    pub rt_memory_min: u64,
    pub rt_memory_max: u64,
    pub host_problem: [u8; ERROR_LEN],
    pub rt_problem: [u8; ERROR_LEN],
    pub guard_ok: u32,
    pub reserved: u32,
    pub guard_problem: [u8; ERROR_LEN],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ErrorText {
    pub hdr: Header,
    pub text: [u8; ERROR_LEN],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Create {
    pub hdr: Header,
    pub name: [u8; NAME_LEN],
    pub memory: u64,
    pub cpus: u64,
    pub cpu_count: u32,
    pub flags: u32,
    pub id: u32,
    pub kind: u32,
    pub budget_ns: u64,
    pub period_ns: u64,
    pub priority: u32,
    pub node: u32,
    pub watch: [u8; NAME_LEN],
    pub more_cpus: u64,
    pub more_count: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Load {
    pub hdr: Header,
    pub id: u32,
    pub kernel_fd: i32,
    pub initrd_fd: i32,
    pub cmdline_len: u32,
    pub cmdline: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Target {
    pub hdr: Header,
    pub id: u32,
    pub flags: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Range {
    pub start: u64,
    pub size: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Status {
    pub hdr: Header,
    pub id: u32,
    pub flags: u32,
    pub name: [u8; NAME_LEN],
    pub state: u32,
    pub cause: u32,
    pub event: u64,
    pub memory: u64,
    pub cpu_count: u32,
    pub range_count: u32,
    pub cpus: [u32; MAX_CPUS],
    pub ranges: [Range; MAX_RANGES],
    pub starts: u32,
    pub agent: u32,
    pub uptime_ns: u64,
    pub boot_ns: u64,
    pub silent_ns: u64,
    pub busy_ns: u64,
    pub host_bytes: u64,
    pub kernel_bytes: u64,
    pub initrd_bytes: u64,
    pub kernel_version: [u8; 128],
    pub cmdline: [u8; 2048],
    pub message: [u8; 256],
    pub kind: u32,
    pub faults: u32,
    pub budget_ns: u64,
    pub period_ns: u64,
    pub priority: u32,
    pub reserved: u32,
    pub exits: u64,
    pub watch: [u8; NAME_LEN],
    pub watch_rounds: u64,
    pub watch_pages: u32,
    pub watch_found: u32,
    pub watch_nonsense: u32,
    pub more_count: u32,
    pub more: [u32; MAX_CPUS],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct RtStatus {
    pub hdr: Header,
    pub id: u32,
    pub cpu: u32,
    pub ran_ns: u64,
    pub entered: u64,
    pub masked: u64,
    pub exits: u64,
    pub timers: u64,
    pub past: u64,
    pub throttled: u64,
    pub host_exits: u64,
    pub moves: u64,
    pub moved_ns: u64,
    pub moved_max_ns: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct RtCheck {
    pub hdr: Header,
    pub id: u32,
    pub pages: u32,
    pub changed: u32,
    pub image_changed: u32,
    pub first: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct RtMove {
    pub hdr: Header,
    pub id: u32,
    pub cpu: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct RtPriority {
    pub hdr: Header,
    pub id: u32,
    pub priority: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct RtVector {
    pub count: u64,
    pub number: u32,
    pub name: [u8; 12],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct RtVectors {
    pub hdr: Header,
    pub id: u32,
    pub cpu: u32,
    pub host: [RtVector; RT_VECTORS],
    pub layer: [RtVector; 2],
    pub program: [RtVector; 2],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct RtLatency {
    pub hdr: Header,
    pub id: u32,
    pub reserved: u32,
    pub cycles_per_second: u64,
    pub count: u64,
    pub min: u64,
    pub max: u64,
    pub sum: u64,
    pub past: u64,
    pub buckets: [u32; RT_LATENCY_BUCKETS],
    pub reserved2: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Wait {
    pub hdr: Header,
    pub id: u32,
    pub timeout_ms: u32,
    pub event: u64,
    pub state: u32,
    pub cause: u32,
}

// SAFETY: repr(C), integers and integer arrays only, header first.
unsafe impl Argument for Info {}
// SAFETY: as above.
unsafe impl Argument for ErrorText {}
// SAFETY: as above.
unsafe impl Argument for Create {}
// SAFETY: as above.
unsafe impl Argument for Load {}
// SAFETY: as above.
unsafe impl Argument for Target {}
// SAFETY: as above.
unsafe impl Argument for Status {}
// SAFETY: as above.
unsafe impl Argument for Wait {}
// SAFETY: as above.
unsafe impl Argument for RtStatus {}
// SAFETY: as above.
unsafe impl Argument for RtLatency {}
// SAFETY: as above.
unsafe impl Argument for RtMove {}
// SAFETY: as above.
unsafe impl Argument for RtCheck {}
// SAFETY: as above.
unsafe impl Argument for RtPriority {}
// SAFETY: as above; its other structures hold nothing else.
unsafe impl Argument for RtVectors {}

mod ioctl {
    use super::*;

    nix::ioctl_readwrite!(info, MAGIC, 0, Info);
    nix::ioctl_readwrite!(error, MAGIC, 1, ErrorText);
    nix::ioctl_readwrite!(create, MAGIC, 2, Create);
    nix::ioctl_write_ptr!(load, MAGIC, 3, Load);
    nix::ioctl_write_ptr!(start, MAGIC, 4, Target);
    nix::ioctl_write_ptr!(stop, MAGIC, 5, Target);
    nix::ioctl_write_ptr!(kill, MAGIC, 6, Target);
    nix::ioctl_write_ptr!(destroy, MAGIC, 7, Target);
    nix::ioctl_readwrite!(status, MAGIC, 8, Status);
    nix::ioctl_readwrite!(wait, MAGIC, 9, Wait);
    nix::ioctl_write_ptr!(console, MAGIC, 10, Target);
    nix::ioctl_write_ptr!(memory, MAGIC, 11, Target);
    nix::ioctl_readwrite!(rt, MAGIC, 13, RtStatus);
    nix::ioctl_readwrite!(rt_latency, MAGIC, 14, RtLatency);
    nix::ioctl_write_ptr!(rt_move, MAGIC, 15, RtMove);
    nix::ioctl_readwrite!(rt_check, MAGIC, 16, RtCheck);
    nix::ioctl_write_ptr!(rt_priority, MAGIC, 17, RtPriority);
    nix::ioctl_readwrite!(rt_vectors, MAGIC, 18, RtVectors);
}

/// A call that takes a `Target`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetCall {
    Start,
    Stop,
    Kill,
    Destroy,
}

/// Ask what KLoader and this machine can do.
pub fn info(device: &File, argument: &mut Info) -> Result<(), Errno> {
    // SAFETY: the structure is the one the call is defined with, and lives
    // through the call; the same holds for every call below.
    unsafe { ioctl::info(device.as_raw_fd(), argument) }.map(drop)
}

/// Ask why the last call on this open file was refused.
pub fn error_text(device: &File, argument: &mut ErrorText) -> Result<(), Errno> {
    // SAFETY: see info().
    unsafe { ioctl::error(device.as_raw_fd(), argument) }.map(drop)
}

/// Make a partition. `cpus` are the logical CPU numbers, `more` those that it may get later;
/// this fills in pointers and counts.
pub fn create(
    device: &File,
    argument: &mut Create,
    cpus: &[u32],
    more: &[u32],
) -> Result<(), Errno> {
    argument.cpus = cpus.as_ptr() as u64;
    argument.cpu_count = u32::try_from(cpus.len()).map_err(|_| Errno::E2BIG)?;
    argument.more_cpus = more.as_ptr() as u64;
    argument.more_count = u32::try_from(more.len()).map_err(|_| Errno::E2BIG)?;
    // SAFETY: see info(); both lists outlive the call as well.
    unsafe { ioctl::create(device.as_raw_fd(), argument) }.map(drop)
}

/// Load a partition's kernel, initrd and command line.
pub fn load(
    device: &File,
    id: u32,
    kernel: &File,
    initrd: Option<&File>,
    cmdline: &[u8],
) -> Result<(), Errno> {
    let mut argument = Load::new();
    argument.id = id;
    argument.kernel_fd = kernel.as_raw_fd();
    argument.initrd_fd = initrd.map_or(-1, AsRawFd::as_raw_fd);
    argument.cmdline = cmdline.as_ptr() as u64;
    argument.cmdline_len = u32::try_from(cmdline.len()).map_err(|_| Errno::E2BIG)?;
    // SAFETY: see info(); files and command line outlive the call as well.
    unsafe { ioctl::load(device.as_raw_fd(), &argument) }.map(drop)
}

/// Make one of the calls that name a partition and flags only.
pub fn target(device: &File, call: TargetCall, id: u32, flags: u32) -> Result<(), Errno> {
    let mut argument = Target::new();
    argument.id = id;
    argument.flags = flags;
    let fd: RawFd = device.as_raw_fd();
    // SAFETY: see info().
    unsafe {
        match call {
            TargetCall::Start => ioctl::start(fd, &argument),
            TargetCall::Stop => ioctl::stop(fd, &argument),
            TargetCall::Kill => ioctl::kill(fd, &argument),
            TargetCall::Destroy => ioctl::destroy(fd, &argument),
        }
    }
    .map(drop)
}

/// Ask about a partition, or with the flag for it about the next one.
pub fn status(device: &File, argument: &mut Status) -> Result<(), Errno> {
    // SAFETY: see info().
    unsafe { ioctl::status(device.as_raw_fd(), argument) }.map(drop)
}

/// Ask about a real-time partition.
pub fn rt(device: &File, argument: &mut RtStatus) -> Result<(), Errno> {
    // SAFETY: see info().
    unsafe { ioctl::rt(device.as_raw_fd(), argument) }.map(drop)
}

/// Ask how late a real-time partition's interrupts were.
pub fn rt_latency(device: &File, argument: &mut RtLatency) -> Result<(), Errno> {
    // SAFETY: see info().
    unsafe { ioctl::rt_latency(device.as_raw_fd(), argument) }.map(drop)
}

/// Let a real-time partition share another CPU.
pub fn rt_move(device: &File, argument: &RtMove) -> Result<(), Errno> {
    // SAFETY: see info().
    unsafe { ioctl::rt_move(device.as_raw_fd(), argument) }.map(drop)
}

/// Give a real-time partition another priority.
pub fn rt_priority(device: &File, argument: &RtPriority) -> Result<(), Errno> {
    // SAFETY: see info().
    unsafe { ioctl::rt_priority(device.as_raw_fd(), argument) }.map(drop)
}

/// Ask for the interrupts that the layer has passed on, by vector.
pub fn rt_vectors(device: &File, argument: &mut RtVectors) -> Result<(), Errno> {
    // SAFETY: see info().
    unsafe { ioctl::rt_vectors(device.as_raw_fd(), argument) }.map(drop)
}

/// Ask whether a real-time partition's memory is as its image has it.
pub fn rt_check(device: &File, argument: &mut RtCheck) -> Result<(), Errno> {
    // SAFETY: see info().
    unsafe { ioctl::rt_check(device.as_raw_fd(), argument) }.map(drop)
}

/// Sleep until a partition's count of events differs from the given one.
pub fn wait(device: &File, argument: &mut Wait) -> Result<(), Errno> {
    // SAFETY: see info().
    unsafe { ioctl::wait(device.as_raw_fd(), argument) }.map(drop)
}

/// Open a partition's console.
pub fn console(device: &File, id: u32) -> Result<File, Errno> {
    let mut argument = Target::new();
    argument.id = id;
    // SAFETY: see info().
    let fd = unsafe { ioctl::console(device.as_raw_fd(), &argument) }?;
    Ok(adopt(fd))
}

/// Open a partition's memory, to be read only.
pub fn memory(device: &File, id: u32) -> Result<File, Errno> {
    let mut argument = Target::new();
    argument.id = id;
    // SAFETY: see info().
    let fd = unsafe { ioctl::memory(device.as_raw_fd(), &argument) }?;
    Ok(adopt(fd))
}

/// Own a descriptor that a call has just returned.
pub(super) fn adopt(fd: RawFd) -> File {
    // SAFETY: the call made this descriptor for us; nobody else has it.
    unsafe { OwnedFd::from_raw_fd(fd) }.into()
}
