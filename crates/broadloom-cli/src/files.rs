//! Files that appear complete or not at all: they are written under a temporary name in the same directory.

use crate::failure::Failure;
use crate::interrupt::remove_if_interrupted;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::{Builder, NamedTempFile};

const PREFIX: &str = ".broadloom-";
const SUFFIX: &str = ".part";
/// Younger ones may not be locked yet by whoever writes them.
const YOUNG: Duration = Duration::from_secs(10);

/// A file that is being written. It is removed if it is dropped before [`Partial::persist`] gives it its name.
#[derive(Debug)]
pub struct Partial {
    /// Its final path; for a symbolic link, that of the target.
    path: PathBuf,
    temporary: NamedTempFile,
}

impl Partial {
    /// Creates a temporary file in the folder of the file to write. If that file exists, the new one gets its mode.
    /// Temporary files of runs that were killed are removed.
    ///
    /// # Errors
    /// Returns an error if it cannot be created, or if the path is not that of a regular file.
    pub fn create(path: &Path) -> Result<Partial, Failure> {
        let failed = |error: io::Error| unwritable(path, &error);
        let link = path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
        let target = match link.then(|| path.canonicalize()).transpose() {
            Ok(target) => target.unwrap_or_else(|| path.to_owned()),
            Err(error) => {
                return Err(Failure::data(format!(
                    "{} cannot be written: its symbolic link cannot be followed: {error}",
                    path.display()
                ))
                .help("remove it, or write to its target"));
            }
        };
        let replaced = target.metadata().ok();
        if let Some(metadata) = &replaced
            && !metadata.is_file()
        {
            if metadata.is_dir() {
                return Err(failed(io::ErrorKind::IsADirectory.into()));
            }
            return Err(Failure::data(format!(
                "{} cannot be written: it is not a regular file",
                path.display()
            ))
            .help_code("for standard output, write:", "-o - --format npy"));
        }
        remove_stale(folder(&target));
        let mut builder = Builder::new();
        builder.prefix(PREFIX).suffix(SUFFIX);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // The mode that other programs use; the mask of the process applies.
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let temporary = builder.tempfile_in(folder(&target)).map_err(failed)?;
        remove_if_interrupted(temporary.path());
        // If locks are not supported, no run removes it as stale either.
        let _ = temporary.as_file().try_lock();
        if let Some(metadata) = replaced {
            temporary.as_file().set_permissions(metadata.permissions()).map_err(failed)?;
        }
        Ok(Partial { path: target, temporary })
    }

    /// Returns another handle of the file.
    ///
    /// # Errors
    /// Returns an error if the system has none.
    pub fn file(&self) -> io::Result<File> {
        self.temporary.as_file().try_clone()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// Returns an error if that is impossible; then the old file stays.
    pub fn persist(self) -> io::Result<()> {
        self.temporary.persist(&self.path).map(drop).map_err(|error| error.error)
    }
}

/// Removes the temporary files of runs that were killed. A running writer holds a lock, which ends with the process.
fn remove_stale(folder: &Path) {
    let Ok(entries) = folder.read_dir() else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let bytes = name.as_encoded_bytes();
        if !bytes.starts_with(PREFIX.as_bytes()) || !bytes.ends_with(SUFFIX.as_bytes()) {
            continue;
        }
        let age = entry.metadata().and_then(|metadata| metadata.modified());
        let is_old = age.is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age > YOUNG));
        let is_free = || File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok());
        if is_old && is_free() {
            // Ignore errors: another run may have removed it.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Writes a file.
///
/// # Errors
/// Returns an error if that is impossible; then the old file stays.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let partial = Partial::create(path)?;
    let written = partial.file().and_then(|mut file| file.write_all(bytes));
    written.and_then(|()| partial.persist()).map_err(|error| unwritable(path, &error))
}

/// Returns whether a path is one that systems have for standard output. The program writes files under other names first,
/// which these folders do not allow.
pub fn is_stdout(path: &Path) -> bool {
    cfg!(unix) && ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| path == Path::new(name))
}

/// Returns the folder of a file.
pub fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns the error of a file that cannot be written.
pub fn unwritable(path: &Path, error: &io::Error) -> Failure {
    // Errors of the temporary file contain its name, which users do not know.
    let cause = match (error.raw_os_error(), error.kind()) {
        (None, kind) if kind != io::ErrorKind::Other => kind.to_string(),
        _ => error.to_string(),
    };
    let failure = |cause: &str| Failure::data(format!("{} cannot be written: {cause}", path.display()));
    match error.kind() {
        io::ErrorKind::NotFound => failure("the folder does not exist")
            .help_code("make it first:", format!("mkdir -p {}", folder(path).display())),
        io::ErrorKind::PermissionDenied => failure(&cause).help("write to a folder that you own"),
        io::ErrorKind::StorageFull => failure(&cause).help("free some space, or write to another disk"),
        _ => failure(&cause).help("choose another file"),
    }
}
