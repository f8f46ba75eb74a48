//! Sockets of AF_VSOCK: vsock(7).

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use nix::Result;
use nix::errno::Errno;
use nix::libc::{VMADDR_CID_ANY, VMADDR_PORT_ANY};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, VsockAddr, accept4, bind, connect as connect_to,
    getpeername, getsockname, listen as listen_on, socket,
};

use super::raw::adopt;

/// Ports that only root may have (LAST_RESERVED_PORT of net/vmw_vsock/af_vsock.c), but for the
/// lowest ones, which services have.
pub const RESERVED: std::ops::RangeInclusive<u32> = 512..=1023;

/// Bits for the connections of one process, before the next one's ports begin.
const EACH: u32 = 3;

fn stream() -> Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC;
    socket(AddressFamily::Vsock, SockType::Stream, flags, None)
}

/// Listen on a port, for whoever can reach this kernel.
pub fn listen(port: u32) -> Result<OwnedFd> {
    let listener = stream()?;
    bind(listener.as_raw_fd(), &VsockAddr::new(VMADDR_CID_ANY, port))?;
    listen_on(&listener, Backlog::MAXCONN)?;
    Ok(listener)
}

/// Listen on any port that is free; returns it, too.
pub fn listen_anywhere() -> Result<(OwnedFd, u32)> {
    let listener = listen(VMADDR_PORT_ANY)?;
    let port = getsockname::<VsockAddr>(listener.as_raw_fd())?.port();
    Ok((listener, port))
}

/// Take the next connection, and say from which address and port.
pub fn accept(listener: impl AsFd) -> Result<(File, u32, u32)> {
    let listener = listener.as_fd().as_raw_fd();
    let connection = adopt(accept4(listener, SockFlag::SOCK_CLOEXEC)?);
    let peer = getpeername::<VsockAddr>(connection.as_raw_fd())?;
    Ok((connection, peer.cid(), peer.port()))
}

/// Connect to a port of the kernel with an address, from a port that only root may have.
pub fn connect(cid: u32, port: u32) -> Result<File> {
    let connection = stream()?;
    bind_reserved(&connection)?;
    connect_to(connection.as_raw_fd(), &VsockAddr::new(cid, port))?;
    Ok(connection.into())
}

/// Another one first each time, here and in the next processes: the partition may still know whoever
/// had it, and would refuse the same one.
fn bind_reserved(socket: &OwnedFd) -> Result<()> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let turn = (std::process::id() << EACH).wrapping_add(count);
    let first = RESERVED.start() + turn % RESERVED.count() as u32;
    for port in (first..=*RESERVED.end()).chain(RESERVED) {
        match bind(socket.as_raw_fd(), &VsockAddr::new(VMADDR_CID_ANY, port)) {
            Err(Errno::EADDRINUSE) => {}
            result => return result,
        }
    }
    Err(Errno::EADDRINUSE)
}
