//! Files that appear complete or not at all: they are written by a temporary name beside their own.

use crate::failure::Failure;
use crate::interrupt::remove_if_interrupted;
use std::io::{self, Write};
use std::path::Path;
use tempfile::{Builder, NamedTempFile};

/// A file beside the one that is to be written. It is gone if it does not get that name by `persist`.
///
/// # Errors
/// If it cannot be made.
pub fn temporary(path: &Path) -> Result<NamedTempFile, Failure> {
    let mut builder = Builder::new();
    builder.prefix(".broadloom-").suffix(".part");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As other programs make files; the mask of the process is applied.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let file = builder.tempfile_in(folder(path)).map_err(|error| unwritable(path, &error))?;
    remove_if_interrupted(file.path());
    Ok(file)
}

/// Writes a file.
///
/// # Errors
/// If that is impossible; then what was there is there still.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let mut file = temporary(path)?;
    file.write_all(bytes).map_err(|error| unwritable(path, &error))?;
    file.persist(path).map_err(|error| unwritable(path, &error.error))?;
    Ok(())
}

/// Where a file is.
pub fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A file that cannot be written.
pub fn unwritable(path: &Path, error: &io::Error) -> Failure {
    // Errors of the temporary file name it, which says nothing to anybody.
    let cause = match (error.raw_os_error(), error.kind()) {
        (None, kind) if kind != io::ErrorKind::Other => kind.to_string(),
        _ => error.to_string(),
    };
    let failure = |cause: &str| Failure::data(format!("{} cannot be written: {cause}", path.display()));
    match error.kind() {
        io::ErrorKind::NotFound => failure("its folder does not exist")
            .help_code("make it first:", format!("mkdir -p {}", folder(path).display())),
        io::ErrorKind::PermissionDenied => failure(&cause).help("write to a folder of yours"),
        io::ErrorKind::StorageFull => failure(&cause).help("make room, or write to another disk"),
        _ => failure(&cause).help("give another file"),
    }
}
