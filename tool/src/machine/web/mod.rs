//! The map of the machine as a page: one document, and the map as JSON that it asks for.

mod answer;

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tiny_http::{Header, Request, Response};

use crate::error::{Error, Result};
use crate::machine::model::{self, Machine};
use crate::machine::snapshot::Snapshot;
use crate::ui::interrupt;
use answer::{Answer, Asked};

/// The longest that a signal goes unseen.
const SLICE: Duration = Duration::from_millis(200);

/// However many browsers ask, the machine is not looked at more often.
const BETWEEN: Duration = Duration::from_millis(500);

/// A server that listens.
pub struct Server {
    http: tiny_http::Server,
    address: SocketAddr,
}

impl Server {
    /// Listen. Fails if the port is taken, or may not be used.
    pub fn bind(wanted: SocketAddr) -> Result<Self> {
        let cannot = |e: &dyn std::fmt::Display| {
            Error::new(format!("cannot listen at {wanted}: {e}"))
                .hint("choose another port: --port 0 takes any that is free")
        };
        let http = tiny_http::Server::http(wanted).map_err(|e| cannot(&e))?;
        let address = http.server_addr().to_ip().unwrap_or(wanted);
        Ok(Server { http, address })
    }

    /// Return where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answer until a signal comes.
    pub fn run(&self, read: &mut dyn FnMut() -> Result<Snapshot>) -> Result<()> {
        let mut looks = Looks::new(read)?;
        loop {
            interrupt::check()?;
            match self.http.recv_timeout(SLICE) {
                Ok(Some(request)) => respond(request, &mut looks),
                Ok(None) => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(Error::new(format!("cannot serve the page: {e}"))),
            }
        }
    }
}

/// The machine as it was last seen.
struct Looks<'a> {
    read: &'a mut dyn FnMut() -> Result<Snapshot>,
    last: Snapshot,
    machine: Machine,
}

impl<'a> Looks<'a> {
    fn new(read: &'a mut dyn FnMut() -> Result<Snapshot>) -> Result<Self> {
        let last = read()?;
        let machine = model::map(&last, &last);
        Ok(Looks {
            read,
            last,
            machine,
        })
    }

    fn now(&mut self) -> Result<&Machine> {
        if self.last.at + BETWEEN <= Instant::now() {
            let now = (self.read)()?;
            self.machine = model::map(&self.last, &now);
            self.last = now;
        }
        Ok(&self.machine)
    }
}

/// Whoever has gone meanwhile gets none.
fn respond(request: Request, looks: &mut Looks<'_>) {
    let host = request.headers().iter().find(|h| h.field.equiv("Host"));
    let asked = Asked {
        method: request.method().as_str(),
        path: request.url(),
        host: host.map(|header| header.value.as_str()),
    };
    let answer = answer::to(&asked, &mut || looks.now().cloned());
    let _ = request.respond(response(&answer));
}

fn response(answer: &Answer) -> Response<io::Cursor<Vec<u8>>> {
    let mut response = Response::from_data(answer.body.as_bytes()).with_status_code(answer.status);
    for (name, value) in answer.headers() {
        if let Ok(header) = Header::from_bytes(name, value) {
            response.add_header(header);
        }
    }
    response
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;
    use crate::machine::rates;

    #[test]
    fn looks_are_not_too_many() {
        let (before, _) = rates::tests::pair();
        let mut count = 0;
        let mut read = || {
            count += 1;
            Ok(Snapshot {
                at: Instant::now(),
                ..before.clone()
            })
        };
        let mut looks = Looks::new(&mut read).unwrap();
        looks.now().unwrap();
        looks.now().unwrap();
        looks.last.at -= BETWEEN;
        looks.now().unwrap();
        assert_eq!(count, 2);
    }

    #[test]
    fn over_a_socket() {
        let server = Server::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let again = Server::bind(server.address()).err().unwrap().to_string();
        assert!(again.contains("cannot listen at 127.0.0.1:"), "{again}");
        let mut client = TcpStream::connect(server.address()).unwrap();
        client
            .write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .unwrap();
        let (before, _) = rates::tests::pair();
        let mut read = || Ok(before.clone());
        let request = server.http.recv().unwrap();
        respond(request, &mut Looks::new(&mut read).unwrap());
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
        assert!(text.contains("Content-Security-Policy: default-src 'none'"));
        assert!(text.contains("<title>"));
    }
}
