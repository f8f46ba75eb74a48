//! Whose kernel a container shares, as its `config.json` says it.

use super::bundle::{Bundle, list};
use crate::error::{Error, Result};

/// Annotations of containerd's and of CRI-O: what a container is in its pod, and the container that
/// is the pod's sandbox.
const OF_PODS: [(&str, &str); 2] = [
    (
        "io.kubernetes.cri.container-type",
        "io.kubernetes.cri.sandbox-id",
    ),
    (
        "io.kubernetes.cri-o.ContainerType",
        "io.kubernetes.cri-o.SandboxID",
    ),
];

impl Bundle {
    /// Return the process whose namespaces it shares, if there is one: with that it shares a
    /// kernel, too.
    pub fn joins(&self) -> Result<Option<i64>> {
        let mut all = list(self.config.pointer("/linux/namespaces")).iter();
        let found = all.find_map(|namespace| {
            let kind = namespace.get("type")?.as_str()?;
            let path = namespace.get("path")?.as_str()?;
            Some((kind, path, owner(path)))
        });
        match found {
            None => Ok(None),
            Some((_, _, Some(pid))) => Ok(Some(pid)),
            // Prepared by who sets up networks.
            Some(("network", _, None)) => Ok(None),
            Some((kind, path, None)) => Err(Error::new(format!(
                "the {kind} namespace '{path}' cannot be joined: whose it is cannot be seen"
            ))),
        }
    }

    /// Return the id of the container whose pod it is in, if an annotation says so.
    pub fn sandbox(&self) -> Option<&str> {
        let of = |name| self.config.get("annotations")?.get(name)?.as_str();
        let mut found = OF_PODS
            .iter()
            .filter(|(kind, _)| of(kind) == Some("container"));
        found.find_map(|(_, id)| of(id))
    }
}

/// Whose namespace it is: `/proc/PID/ns/…`.
fn owner(path: &str) -> Option<i64> {
    let (pid, _) = path.strip_prefix("/proc/")?.split_once("/ns/")?;
    pid.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::bundle::tests::example;
    use serde_json::json;

    #[test]
    fn whose_kernel_it_shares() {
        let with = |path: &str| {
            let mut bundle = example();
            bundle.config["linux"]["namespaces"][2]["path"] = path.into();
            bundle.joins().map_err(|e| e.to_string())
        };
        assert_eq!(
            example().joins(),
            Ok(None),
            "a network that podman has made"
        );
        assert_eq!(with("/proc/17/ns/ipc"), Ok(Some(17)));
        assert!(
            with("/run/x")
                .unwrap_err()
                .contains("ipc namespace '/run/x'")
        );
    }

    #[test]
    fn pods() {
        let with = |kind: &str| {
            let mut bundle = example();
            bundle.config["annotations"] = json!({
                "io.kubernetes.cri.container-type": kind,
                "io.kubernetes.cri.sandbox-id": "first",
            });
            bundle.sandbox().map(String::from)
        };
        assert_eq!(with("container").as_deref(), Some("first"));
        assert_eq!(with("sandbox"), None);
        assert_eq!(example().sandbox(), None);
    }
}
