//! Sockets of AF_VSOCK: vsock(7).

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use nix::Result;
use nix::libc::VMADDR_CID_ANY;
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, VsockAddr, accept4, bind, connect as connect_to,
    getpeername, listen as listen_on, socket,
};

use super::raw::adopt;

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

/// Take the next connection, and say whose it is.
pub fn accept(listener: impl AsFd) -> Result<(File, u32)> {
    let listener = listener.as_fd().as_raw_fd();
    let connection = adopt(accept4(listener, SockFlag::SOCK_CLOEXEC)?);
    let peer = getpeername::<VsockAddr>(connection.as_raw_fd())?;
    Ok((connection, peer.cid()))
}

/// Connect to a port of the kernel with an address.
pub fn connect(cid: u32, port: u32) -> Result<File> {
    let connection = stream()?;
    connect_to(connection.as_raw_fd(), &VsockAddr::new(cid, port))?;
    Ok(connection.into())
}
