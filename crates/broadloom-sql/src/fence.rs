//! Files of which only those in stated folders can be read or written.
//!
//! A plan from a client names files, also in `COPY .. TO` and in external tables. Engines open all of them through an object
//! store, so a server gets one that resolves links and `..` first, and looks whether a stated folder holds what is left.

use datafusion::common::{DataFusionError, Result as QueryResult, exec_err};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::object_store::local::LocalFileSystem;
use datafusion::object_store::path::Path as Location;
use datafusion::object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use std::ffi::OsString;
use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// The folders whose files a server may read and write for clients.
///
/// ```
/// use broadloom_sql::Folders;
/// let folders = Folders::reading(&["."])?.and_writing(&["."])?;
/// assert!(Folders::reading(&["no such folder"]).is_err());
/// # let _ = folders;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Folders {
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
}

impl Folders {
    /// Takes folders to read from, also below them.
    ///
    /// # Errors
    /// Returns an error if a folder does not exist.
    pub fn reading(folders: &[impl AsRef<Path>]) -> std::io::Result<Folders> {
        let read = folders.iter().map(|folder| resolved(folder.as_ref())).collect::<std::io::Result<_>>()?;
        Ok(Folders { read, write: Vec::new() })
    }

    /// Adds folders to write to, also below them. What is written can be read as well.
    ///
    /// # Errors
    /// Returns an error if a folder does not exist.
    pub fn and_writing(mut self, folders: &[impl AsRef<Path>]) -> std::io::Result<Folders> {
        for folder in folders {
            let folder = resolved(folder.as_ref())?;
            self.read.push(folder.clone());
            self.write.push(folder);
        }
        Ok(self)
    }

    /// Refuses a place to write to.
    pub(crate) fn check_write(&self, location: &Location) -> QueryResult<()> {
        self.check(location, Access::Write).map_err(|outside| DataFusionError::Execution(outside.to_string()))
    }

    fn check(&self, location: &Location, access: Access) -> std::result::Result<(), Outside> {
        let path = Path::new("/").join(location.as_ref());
        let folders = match access {
            Access::Read => &self.read,
            Access::Write => &self.write,
        };
        match real(&path).is_some_and(|real| folders.iter().any(|folder| real.starts_with(folder))) {
            true => Ok(()),
            false => Err(Outside { path, access }),
        }
    }

    /// Lets the plans of an engine see only these folders.
    pub(crate) fn enclose(&self, runtime: &RuntimeEnv) {
        let url = ObjectStoreUrl::local_filesystem();
        let store = Fence { files: LocalFileSystem::new(), folders: self.clone() };
        runtime.register_object_store(url.as_ref(), Arc::new(store));
    }
}

/// Refuses a name of a query that is more than a name. Executors keep results in a folder of this name.
pub(crate) fn check_job(job: &str) -> QueryResult<()> {
    match Path::new(job).components().next() {
        Some(Component::Normal(name)) if name == job => Ok(()),
        _ => exec_err!("`{job}` is no name of a query"),
    }
}

fn resolved(folder: &Path) -> std::io::Result<PathBuf> {
    std::fs::canonicalize(folder)
        .and_then(|path| match path.is_dir() {
            true => Ok(path),
            false => Err(std::io::ErrorKind::NotADirectory.into()),
        })
        .map_err(|error| {
            std::io::Error::new(error.kind(), format!("the folder `{}`: {error}", folder.display()))
        })
}

/// What a plan wants of a file.
#[derive(Debug, Clone, Copy)]
enum Access {
    Read,
    Write,
}

/// Files that a server does not touch.
struct Outside {
    path: PathBuf,
    access: Access,
}

impl fmt::Display for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (done, option) = match self.access {
            Access::Read => ("read", "--allow-read"),
            Access::Write => ("written", "--allow-write"),
        };
        let path = self.path.display();
        write!(
            f,
            "error[F001]: `{path}` is not {done}, because it is outside of the folders that the servers of the cluster \
             were started with\n   help: start the scheduler and the executors with `{option} DIR`, where DIR holds the file"
        )
    }
}

/// A cluster reports the errors of tasks as they are printed for debugging, and a client finds a text in quotes there.
impl fmt::Debug for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

impl std::error::Error for Outside {}

/// The files of this machine, as far as folders allow.
#[derive(Debug)]
struct Fence {
    files: LocalFileSystem,
    folders: Folders,
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.files.fmt(f)
    }
}

impl Fence {
    fn check(&self, location: &Location, access: Access) -> Result<()> {
        self.folders.check(location, access).map_err(|outside| Error::PermissionDenied {
            path: location.to_string(),
            source: Box::new(outside),
        })
    }
}

/// Returns a path without links and `..`, as far as it exists; the rest has no such parts. `None` for a path that cannot
/// be resolved, such as a link to nothing, which a write would follow.
fn real(path: &Path) -> Option<PathBuf> {
    let mut missing: Vec<OsString> = Vec::new();
    let mut known = path;
    loop {
        if let Ok(real) = std::fs::canonicalize(known) {
            return Some(missing.iter().rev().fold(real, |real, part| real.join(part)));
        }
        if known.symlink_metadata().is_ok() {
            return None;
        }
        missing.push(known.file_name()?.to_owned());
        known = known.parent()?;
    }
}

#[async_trait::async_trait]
impl ObjectStore for Fence {
    async fn put_opts(&self, to: &Location, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.check(to, Access::Write)?;
        self.files.put_opts(to, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        to: &Location,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.check(to, Access::Write)?;
        self.files.put_multipart_opts(to, options).await
    }

    async fn get_opts(&self, from: &Location, options: GetOptions) -> Result<GetResult> {
        self.check(from, Access::Read)?;
        self.files.get_opts(from, options).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Location>>,
    ) -> BoxStream<'static, Result<Location>> {
        let fence = Fence { files: self.files.clone(), folders: self.folders.clone() };
        let checked = locations.map(move |location| {
            let location = location?;
            fence.check(&location, Access::Write)?;
            Ok(location)
        });
        self.files.delete_stream(checked.boxed())
    }

    fn list(&self, prefix: Option<&Location>) -> BoxStream<'static, Result<ObjectMeta>> {
        match self.check(prefix.unwrap_or(&Location::default()), Access::Read) {
            Ok(()) => self.files.list(prefix),
            Err(error) => stream::once(async { Err(error) }).boxed(),
        }
    }

    async fn list_with_delimiter(&self, prefix: Option<&Location>) -> Result<ListResult> {
        self.check(prefix.unwrap_or(&Location::default()), Access::Read)?;
        self.files.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Location, to: &Location, options: CopyOptions) -> Result<()> {
        self.check(from, Access::Read)?;
        self.check(to, Access::Write)?;
        self.files.copy_opts(from, to, options).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::object_store::ObjectStoreExt;

    fn location(path: &Path) -> Location {
        Location::from_absolute_path(path).unwrap()
    }

    #[tokio::test]
    async fn only_files_in_the_folders_are_touched() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().canonicalize().unwrap().join(name);
        for folder in ["in", "in/deep", "out", "inside-by-name-only"] {
            std::fs::create_dir(at(folder)).unwrap();
        }
        for file in ["in/a", "in/deep/b", "out/secret", "inside-by-name-only/c"] {
            std::fs::write(at(file), file).unwrap();
        }
        let folders = Folders::reading(&[at("in")]).unwrap().and_writing(&[at("in/deep")]).unwrap();
        let fence = Fence { files: LocalFileSystem::new(), folders };
        let reads = async |path: PathBuf| fence.get(&location(&path)).await.is_ok();
        assert!(reads(at("in/a")).await && reads(at("in/deep/b")).await);
        assert!(!reads(at("out/secret")).await && !reads(at("inside-by-name-only/c")).await);
        assert!(!reads(PathBuf::from("/etc/passwd")).await);
        let writes = async |path: PathBuf| fence.put(&location(&path), "x".into()).await.is_ok();
        assert!(writes(at("in/deep/new")).await && writes(at("in/deep/more/new")).await);
        assert!(!writes(at("in/new")).await && !writes(at("out/new")).await && !writes(at("new")).await);
        assert!(!at("out/new").exists() && !at("in/new").exists());
        // Parts of a location are names, so that `..` is one too, and not the folder above.
        let up = Location::from_iter(
            location(&at("in/deep")).parts().chain(["..", "..", "out", "secret"].map(Into::into)),
        );
        assert!(fence.get(&up).await.is_err(), "{up}");
        let deleted = fence.delete(&location(&at("in/a"))).await;
        assert!(deleted.is_err() && at("in/a").exists());
        let listed: Vec<_> = fence.list(Some(&location(&at("out")))).collect().await;
        assert!(listed.iter().all(Result::is_err) && !listed.is_empty());
        #[cfg(unix)]
        {
            use std::os::unix::fs::symlink;
            symlink(at("out/secret"), at("in/link")).unwrap();
            symlink(at("out"), at("in/deep/folder")).unwrap();
            symlink(at("out/nothing-yet"), at("in/deep/dangling")).unwrap();
            assert!(!reads(at("in/link")).await && !reads(at("in/deep/folder/secret")).await);
            assert!(!writes(at("in/deep/folder/new")).await && !writes(at("in/deep/dangling")).await);
            assert!(!at("out/new").exists() && !at("out/nothing-yet").exists());
        }
    }
}
