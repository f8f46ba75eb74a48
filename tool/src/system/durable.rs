//! Files that are whole or as they were, whatever happens while they are written.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use crate::error::{IoContext, Result};

/// Replace a file, or make it; it is on the disk when this returns.
///
/// Fails if its directory cannot be written; then it is as it was.
pub fn replace(path: &Path, data: &[u8]) -> Result<()> {
    let cannot = || format!("cannot write {}", path.display());
    // Its name ends as no name does that others read in that directory.
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let mut file = File::create(&new).or_fail(cannot())?;
    file.write_all(data).or_fail(cannot())?;
    file.sync_all().or_fail(cannot())?;
    fs::rename(&new, path).or_fail(cannot())?;
    let directory = path.parent().unwrap_or(Path::new("/"));
    File::open(directory)
        .and_then(|directory| directory.sync_all())
        .or_fail(cannot())
}
