//! What is answered to whom.

use std::net::IpAddr;

use crate::error::Result;
use crate::machine::model::Machine;
use crate::ui::output;

const PAGE: &str = include_str!("page.html");

/// A request, as far as it matters.
pub struct Asked<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub host: Option<&'a str>,
}

/// What is sent back.
pub struct Answer {
    pub status: u16,
    pub body: String,
    kind: &'static str,
}

impl Answer {
    fn text(status: u16, body: impl Into<String>) -> Self {
        Answer {
            status,
            body: body.into(),
            kind: "text/plain; charset=utf-8",
        }
    }

    /// Return the headers: the page runs its own script, asks this server, and nothing
    /// else.
    pub fn headers(&self) -> [(&'static str, &'static str); 4] {
        [
            ("Content-Type", self.kind),
            (
                "Content-Security-Policy",
                "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'",
            ),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
        ]
    }
}

/// Answer with the page, the map of the machine, or why there is neither.
pub fn to(asked: &Asked<'_>, machine: &mut dyn FnMut() -> Result<Machine>) -> Answer {
    if !asked.host.is_some_and(is_no_name) {
        // A page of somebody else's whose name leads here would be let read this one.
        return Answer::text(403, "ask by address, or for localhost\n");
    }
    if asked.method != "GET" {
        return Answer::text(405, "this page can be read, and nothing else\n");
    }
    match asked.path {
        "/" => Answer {
            status: 200,
            body: PAGE.into(),
            kind: "text/html; charset=utf-8",
        },
        "/machine.json" => match machine().and_then(|machine| output::json_text(&machine)) {
            Ok(body) => Answer {
                status: 200,
                body,
                kind: "application/json",
            },
            Err(error) => Answer::text(500, format!("{error}\n")),
        },
        _ => Answer::text(404, "there are / and /machine.json\n"),
    }
}

/// Is it an address or localhost, with or without a port?
fn is_no_name(host: &str) -> bool {
    let bare = match host.rsplit_once(':') {
        Some((bare, port)) if port.bytes().all(|b| b.is_ascii_digit()) => bare,
        _ => host,
    };
    let bare = bare.trim_start_matches('[').trim_end_matches(']');
    bare == "localhost" || bare.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::machine::model;

    fn status(method: &str, path: &str, host: Option<&str>) -> u16 {
        let asked = Asked { method, path, host };
        to(&asked, &mut || Ok(model::example())).status
    }

    #[test]
    fn who_is_answered() {
        for host in [
            "localhost",
            "127.0.0.1:7468",
            "[::1]:80",
            "192.0.2.1",
            "localhost:1",
        ] {
            assert_eq!(status("GET", "/", Some(host)), 200, "{host}");
        }
        for host in [
            "example.org",
            "example.org:7468",
            "localhost.example.org",
            "",
        ] {
            assert_eq!(status("GET", "/machine.json", Some(host)), 403, "{host}");
        }
        assert_eq!(status("GET", "/", None), 403);
    }

    #[test]
    fn what_is_answered() {
        let host = Some("localhost");
        assert_eq!(status("GET", "/machine.json", host), 200);
        assert_eq!(status("GET", "/../etc/passwd", host), 404);
        for method in ["POST", "PUT", "DELETE", "HEAD"] {
            assert_eq!(status(method, "/", host), 405);
        }
        let asked = Asked {
            method: "GET",
            path: "/machine.json",
            host,
        };
        let answer = to(&asked, &mut || Ok(model::example()));
        let json: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(json["format"], 2);
        assert_eq!(json["kernels"][1]["name"], "web");
        let answer = to(&asked, &mut || Err(Error::new("no KLoader")));
        assert_eq!((answer.status, answer.body.as_str()), (500, "no KLoader\n"));
    }

    #[test]
    fn the_page_needs_nothing_from_elsewhere() {
        for word in ["http:", "https:", "//cdn", "src=", "@import", "innerHTML"] {
            assert!(!PAGE.contains(word), "{word}");
        }
    }
}
