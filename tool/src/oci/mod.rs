//! Containers on kernels of their own: an OCI runtime.
//!
//! A container has two halves. Its program runs in a partition, made and watched by the crun
//! there. On the host crun makes its *shadow*, whose only process is our proxy: it has the
//! container's cgroup, network, hooks, input, output and exit code, where podman and others look
//! for them.

pub mod bundle;
pub mod events;
mod guest;
mod home;
pub mod init;
mod initrd;
mod last_words;
pub mod life;
mod mount_points;
mod network;
mod partition;
mod pod;
pub mod pool;
pub mod process;
pub mod proxy;
pub mod record;
pub mod settings;
pub mod shadow;
mod share;
pub mod slot;

/// The tag of the file system with all that the container sees of the host.
const SHARE_TAG: &str = "shimos";
/// Where the partition has it.
const SHARE: &str = "/share";
/// In it: the container's root.
const ROOT: &str = "root";
/// In it: what is bound into the container, by number.
const BINDS: &str = "binds";
/// In it: the parts of other containers in the same partition, by their ids.
const MEMBERS: &str = "members";
/// In it: what `ip` is to do there.
const NETWORK: &str = "network";
/// What says on the partition's command line where the host waits for its word.
const HELLO: &str = "shimos_oci.hello=";
/// The reference runtime, here and there.
const CRUN: &str = "crun";
/// What sets up interfaces, here and there.
const IP: &str = "ip";
/// What runs `ip` for another network, here and there.
const NSENTER: &str = "nsenter";
