//! The folders in which executors keep results between the stages of a query.

use std::fs::{File, TryLockError};
use std::io::Result;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const PREFIX: &str = "broadloom-sql-";
/// The file that an executor locks as long as it lives.
const LOCK: &str = "lock";

/// A folder of an executor, which is removed with it. If the process is killed, the next executor with the same parent
/// removes it.
pub(super) struct Work {
    directory: TempDir,
    _lock: File,
}

impl Work {
    /// Makes a folder, and removes those of dead processes.
    pub(super) fn new(parent: &Path) -> Result<Work> {
        std::fs::create_dir_all(parent)?;
        remove_dead(parent)?;
        let directory = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        let lock = File::create_new(directory.path().join(LOCK))?;
        lock.lock()?;
        Ok(Work { directory, _lock: lock })
    }

    /// Returns the folder for the files of jobs. Ballista takes every folder in it for one of a job.
    pub(super) fn jobs(&self) -> Result<PathBuf> {
        let jobs = self.directory.path().join("jobs");
        std::fs::create_dir_all(&jobs)?;
        Ok(jobs)
    }
}

fn remove_dead(parent: &Path) -> Result<()> {
    for entry in std::fs::read_dir(parent)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        // A folder without the file is one that is being made, or is no executor's.
        let Ok(lock) = File::open(entry.path().join(LOCK)) else { continue };
        match lock.try_lock() {
            // Another executor may remove it at the same time, and then it is gone.
            Ok(()) => drop(std::fs::remove_dir_all(entry.path())),
            Err(TryLockError::WouldBlock) => {}
            // It belongs to someone else.
            Err(TryLockError::Error(_)) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_the_dead_are_removed_and_those_of_the_living_stay() {
        let parent = tempfile::tempdir().unwrap();
        let names = || {
            let entries = std::fs::read_dir(parent.path()).unwrap();
            let mut names: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
            names.sort();
            names
        };
        let living = Work::new(parent.path()).unwrap();
        std::fs::write(living.jobs().unwrap().join("data"), "1").unwrap();
        let of_living = names();
        // What a killed process leaves is a folder whose lock nobody holds.
        let dead = parent.path().join("broadloom-sql-dead");
        std::fs::create_dir_all(dead.join("jobs/1/2")).unwrap();
        std::fs::write(dead.join(LOCK), "").unwrap();
        let other = parent.path().join("broadloom-sql-of-someone-else");
        std::fs::create_dir(&other).unwrap();
        let second = Work::new(parent.path()).unwrap();
        assert!(!dead.exists() && other.exists() && of_living[0].join("jobs/data").exists());
        drop((living, second));
        assert_eq!(names(), [other]);
    }
}
