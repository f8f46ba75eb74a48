//! A process that a command line begins in a container: as the container's own, but for what is
//! said.

use serde_json::{Value, json};

use super::bundle::list;

/// Its user, and its group if that is another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    pub uid: u32,
    pub gid: Option<u32>,
}

/// Read a user: `UID` or `UID:GID`, as numbers.
pub fn user(text: &str) -> Result<User, String> {
    let number = |text: &str| {
        text.parse()
            .map_err(|_| format!("'{text}' is no number of a user or a group"))
    };
    let (uid, gid) = match text.split_once(':') {
        Some((uid, gid)) => (uid, Some(number(gid)?)),
        None => (text, None),
    };
    Ok(User {
        uid: number(uid)?,
        gid,
    })
}

/// What differs from the container's own process.
#[derive(Debug, Default)]
pub struct Changes {
    pub args: Vec<String>,
    pub terminal: bool,
    pub user: Option<User>,
    /// `NAME=VALUE`
    pub env: Vec<String>,
    pub cwd: Option<String>,
    /// Those that it has besides.
    pub capabilities: Vec<String>,
    pub no_new_privileges: bool,
}

impl Changes {
    /// Return the process that comes of the container's own.
    pub fn of(&self, mut process: Value) -> Value {
        process["args"] = self.args.clone().into();
        process["terminal"] = self.terminal.into();
        if let Some(User { uid, gid }) = self.user {
            process["user"]["uid"] = uid.into();
            if let Some(gid) = gid {
                process["user"]["gid"] = gid.into();
            }
        }
        if let Some(cwd) = &self.cwd {
            process["cwd"] = cwd.as_str().into();
        }
        process["env"] = self.environment(&process["env"]);
        if !self.capabilities.is_empty() {
            for set in ["bounding", "effective", "permitted"] {
                add(&mut process["capabilities"][set], &self.capabilities);
            }
        }
        if self.no_new_privileges {
            process["noNewPrivileges"] = true.into();
        }
        process
    }

    /// Whoever looks for a variable takes the first one of its name.
    fn environment(&self, old: &Value) -> Value {
        let name = |variable: &str| variable.split('=').next().map(str::to_string);
        let names: Vec<_> = self.env.iter().map(|new| name(new)).collect();
        let kept = list(Some(old)).iter().filter_map(Value::as_str);
        let kept = kept.filter(|old| !names.contains(&name(old)));
        let new = self.env.iter().map(String::as_str);
        kept.chain(new).collect::<Vec<_>>().into()
    }
}

fn add(set: &mut Value, more: &[String]) {
    let mut all: Vec<&str> = list(Some(set)).iter().filter_map(Value::as_str).collect();
    for name in more {
        if !all.contains(&name.as_str()) {
            all.push(name);
        }
    }
    *set = json!(all);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users() {
        let of = |uid, gid| Ok(User { uid, gid });
        assert_eq!(user("5"), of(5, None));
        assert_eq!(user("5:6"), of(5, Some(6)));
        for bad in ["", ":", "5:", "root", "-1", "5:6:7"] {
            assert!(user(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn changed() {
        let own = json!({
            "args": ["sleep"], "terminal": true, "cwd": "/", "env": ["A=1", "B=2"],
            "user": {"uid": 1, "gid": 1, "additionalGids": [7]},
            "capabilities": {"bounding": ["CAP_KILL"], "ambient": []},
        });
        let same = Changes {
            args: vec!["ls".into()],
            ..Changes::default()
        };
        let mut expected = own.clone();
        (expected["args"], expected["terminal"]) = (json!(["ls"]), json!(false));
        assert_eq!(same.of(own.clone()), expected);
        let other = Changes {
            args: vec!["ls".into()],
            terminal: true,
            user: Some(User { uid: 5, gid: None }),
            env: vec!["B=3".into(), "C=4".into()],
            cwd: Some("/tmp".into()),
            capabilities: vec!["CAP_KILL".into(), "CAP_CHOWN".into()],
            no_new_privileges: true,
        };
        insta::assert_snapshot!(serde_json::to_string_pretty(&other.of(own)).unwrap());
    }
}
