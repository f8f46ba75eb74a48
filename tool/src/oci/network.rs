//! A container's network: what its network namespace has on the host becomes the partition's.
//!
//! Beside each interface there the partition gets one of its own, with the same address, and the
//! host passes on what comes to either of them: what Kata calls tcfilter.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use super::bundle::Bundle;
use super::{IP, NSENTER};
use crate::error::{Error, IoContext, Result};

/// What our interfaces in the namespace are called, with a number.
const OURS: &str = "shimos";
const USUAL_MTU: u32 = 1500;

/// The network of one container.
#[derive(Debug)]
pub struct Network {
    /// Its namespace on the host.
    namespace: PathBuf,
    links: Vec<Link>,
    routes: Vec<Route>,
}

/// An interface, as `ip -json address` shows it.
#[derive(Debug, Deserialize)]
struct Link {
    ifname: String,
    #[serde(default)]
    link_type: String,
    #[serde(default)]
    address: String,
    mtu: u32,
    #[serde(default)]
    addr_info: Vec<Address>,
}

#[derive(Debug, Deserialize)]
struct Address {
    local: String,
    prefixlen: u8,
    scope: String,
}

/// A route, as `ip -json route` shows it.
#[derive(Debug, Deserialize)]
struct Route {
    dst: String,
    gateway: Option<String>,
    dev: String,
    #[serde(default)]
    protocol: String,
    metric: Option<u32>,
}

impl Network {
    /// Read what has been prepared; `None`: the container's network namespace is made with it.
    pub fn of(bundle: &Bundle) -> Result<Option<Self>> {
        bundle.network().map(Self::within).transpose()
    }

    /// Read what there is in a namespace.
    pub fn within(namespace: PathBuf) -> Result<Self> {
        let ip = |words: &[&str]| -> Result<String> { said(within(&namespace, IP).args(words)) };
        let links = ip(&["-json", "address", "show"])?;
        let mut routes = Vec::new();
        for family in ["-4", "-6"] {
            routes.extend(parsed::<Route>(&ip(&[family, "-json", "route", "show"])?)?);
        }
        Ok(Network::found(namespace, parsed(&links)?, routes))
    }

    fn found(namespace: PathBuf, links: Vec<Link>, routes: Vec<Route>) -> Self {
        let links: Vec<Link> = links
            .into_iter()
            .filter(|link| link.link_type == "ether")
            .collect();
        let has = |name: &str| links.iter().any(|link| link.ifname == name);
        let routes = routes
            .into_iter()
            // Those of the kernel come with the addresses.
            .filter(|route| has(&route.dev) && route.protocol != "kernel")
            .collect();
        Network {
            namespace,
            links,
            routes,
        }
    }

    /// Begin a command line that runs in the namespace: its interfaces are made there.
    pub fn command(&self, program: &Path) -> Command {
        within(&self.namespace, program)
    }

    /// Return the options of `shimos run` for it.
    pub fn options(&self) -> Vec<String> {
        let one = |(i, link): (usize, &Link)| {
            let net = format!("p2p,mtu={},name={OURS}{i}", link.mtu);
            ["--net".to_string(), net]
        };
        self.links.iter().enumerate().flat_map(one).collect()
    }

    /// Return what `ip -batch` is to do in the partition.
    pub fn there(&self) -> String {
        let mut text = String::from("link set dev lo up\n");
        for (i, link) in self.links.iter().enumerate() {
            let name = &link.ifname;
            if *name != format!("eth{i}") {
                let _ = writeln!(text, "link set dev eth{i} name {name}");
            }
            // Two in one namespace cannot have the same from the beginning.
            let _ = writeln!(text, "link set dev {name} address {}", link.address);
            for address in link.addr_info.iter().filter(|a| a.scope != "link") {
                let nodad = if address.local.contains(':') {
                    " nodad"
                } else {
                    ""
                };
                let (local, length) = (&address.local, address.prefixlen);
                let _ = writeln!(text, "address add {local}/{length} dev {name}{nodad}");
            }
            let _ = writeln!(text, "link set dev {name} up");
        }
        for route in &self.routes {
            let _ = write!(text, "route add {}", route.dst);
            if let Some(gateway) = &route.gateway {
                let _ = write!(text, " via {gateway}");
            }
            let _ = write!(text, " dev {}", route.dev);
            if let Some(metric) = route.metric {
                let _ = write!(text, " metric {metric}");
            }
            text.push('\n');
        }
        text
    }

    /// Tell whether there is nothing but the loopback interface.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Tell whether one spare interface does, which is as it comes.
    pub fn is_usual(&self) -> bool {
        matches!(self.links.as_slice(), [] | [Link { mtu: USUAL_MTU, .. }])
    }

    /// Have a spare interface of the host's namespace, instead of one that was made here.
    pub fn take(&self, spare: &str) -> Result<()> {
        if self.links.is_empty() {
            return Ok(());
        }
        let namespace = self.namespace.to_string_lossy();
        let mut ip = Command::new(IP);
        ip.args(["link", "set", "dev", spare, "netns", &namespace]);
        said(ip.args(["name", &format!("{OURS}0")])).map(drop)
    }

    /// Pass on what comes, from now on, both ways.
    pub fn connect(&self) -> Result<()> {
        let (mut up, mut redirect) = (String::new(), String::new());
        for (i, link) in self.links.iter().enumerate() {
            let ours = format!("{OURS}{i}");
            let _ = writeln!(up, "link set dev {ours} up");
            for (from, to) in [(&link.ifname, &ours), (&ours, &link.ifname)] {
                let _ = writeln!(redirect, "qdisc add dev {from} ingress");
                let _ = writeln!(
                    redirect,
                    "filter add dev {from} parent ffff: protocol all matchall action mirred egress redirect dev {to}"
                );
            }
        }
        self.batch(IP, &up)?;
        self.batch("tc", &redirect)
    }

    fn batch(&self, program: &str, lines: &str) -> Result<()> {
        let what = format!("cannot run {program}");
        let mut command = within(&self.namespace, program);
        command.args(["-batch", "-"]);
        let child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.or_fail(&what)?;
        if let Some(mut input) = child.stdin.take() {
            // If it does not read, it says why.
            let _ = input.write_all(lines.as_bytes());
        }
        let output = child.wait_with_output().or_fail(&what)?;
        result(program, &output).map(drop)
    }
}

fn within(namespace: &Path, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(NSENTER);
    command
        .arg(format!("--net={}", namespace.display()))
        .arg("--")
        .arg(program);
    command
}

fn said(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output();
    result(
        IP,
        &output.or_fail("cannot run nsenter and ip (apt install iproute2)")?,
    )
}

fn result(program: &str, output: &std::process::Output) -> Result<String> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().next().unwrap_or("it has failed");
    Err(Error::new(format!(
        "the container's network: {program}: {said}"
    )))
}

/// One that has nothing to show prints nothing, or an empty object in the list.
fn parsed<T: for<'a> Deserialize<'a>>(text: &str) -> Result<Vec<T>> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    serde_json::from_str(text).map_err(|e| {
        Error::new(format!(
            "the container's network: ip says what makes no sense: {e}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINKS: &str = r#"[
        {"ifindex": 1, "ifname": "lo", "link_type": "loopback", "address": "00:00:00:00:00:00", "mtu": 65536,
         "addr_info": [{"family": "inet", "local": "127.0.0.1", "prefixlen": 8, "scope": "host"}]},
        {"ifindex": 2, "ifname": "eth0", "link_type": "ether", "address": "a2:00:00:00:00:01", "mtu": 1500,
         "addr_info": [
            {"family": "inet", "local": "10.88.0.5", "prefixlen": 16, "scope": "global"},
            {"family": "inet6", "local": "fd00::5", "prefixlen": 64, "scope": "global"},
            {"family": "inet6", "local": "fe80::1", "prefixlen": 64, "scope": "link"}]},
        {"ifindex": 3, "ifname": "net1", "link_type": "ether", "address": "a2:00:00:00:00:02", "mtu": 9000}
    ]"#;
    const ROUTES: &str = r#"[
        {"dst": "default", "gateway": "10.88.0.1", "dev": "eth0", "protocol": "static", "metric": 100},
        {"dst": "10.88.0.0/16", "dev": "eth0", "protocol": "kernel", "scope": "link"},
        {"dst": "10.0.0.0/8", "dev": "lo", "protocol": "static"}
    ]"#;

    #[test]
    fn what_the_partition_gets() {
        let network = Network::found(
            "/run/netns/a".into(),
            parsed(LINKS).unwrap(),
            parsed(ROUTES).unwrap(),
        );
        let expected = [
            "--net",
            "p2p,mtu=1500,name=shimos0",
            "--net",
            "p2p,mtu=9000,name=shimos1",
        ];
        assert_eq!(network.options(), expected);
        assert_eq!(
            network.there(),
            "link set dev lo up\n\
             link set dev eth0 address a2:00:00:00:00:01\n\
             address add 10.88.0.5/16 dev eth0\n\
             address add fd00::5/64 dev eth0 nodad\n\
             link set dev eth0 up\n\
             link set dev eth1 name net1\n\
             link set dev net1 address a2:00:00:00:00:02\n\
             link set dev net1 up\n\
             route add default via 10.88.0.1 dev eth0 metric 100\n"
        );
        assert!(!network.is_usual());
        let mut links: Vec<Link> = parsed(LINKS).unwrap();
        links.truncate(2);
        assert!(Network::found("/n".into(), links, Vec::new()).is_usual());
        assert!(parsed::<Route>("\n").unwrap().is_empty());
        assert!(parsed::<Route>("{").is_err());
    }
}
