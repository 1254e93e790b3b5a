//! The name by which a candidate knows its own lease again.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;

/// A UUID as text.
const UUID_BYTES: u64 = 36;

/// The name in the lease, and what keeps others from having it at the same time.
#[derive(Debug)]
pub struct Identity {
    name: String,
    /// Held by the process that has the name.
    _lock: Option<File>,
}

impl Identity {
    /// The pod's: whatever container of it runs, there is only one at a time.
    pub fn of_pod(uid: &str) -> Self {
        Self { name: uid.to_owned(), _lock: None }
    }

    /// This machine's and a UUID that is kept in a file. While another process has the file, it is
    /// one of its own.
    pub fn of_machine(file: &Path) -> io::Result<Self> {
        let host = fs::read_to_string("/proc/sys/kernel/hostname")?;
        let (uuid, lock) = match open_locked(file)? {
            Some(mut file) => (kept(&mut file)?, Some(file)),
            None => (new_uuid()?, None),
        };
        Ok(Self { name: format!("{}_{uuid}", host.trim()), _lock: lock })
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

fn open_locked(path: &Path) -> io::Result<Option<File>> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The UUID in the file, which gets one if there is none.
fn kept(file: &mut File) -> io::Result<String> {
    let mut text = String::new();
    // What is no text is no UUID either.
    let _ = file.take(UUID_BYTES).read_to_string(&mut text);
    if is_uuid(&text) {
        return Ok(text);
    }
    let uuid = new_uuid()?;
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(uuid.as_bytes())?;
    Ok(uuid)
}

fn is_uuid(text: &str) -> bool {
    text.len() as u64 == UUID_BYTES && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

fn new_uuid() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/uuid")?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_keeps_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("state/identity");
        let first = Identity::of_machine(&file).unwrap();
        let name = first.name().to_owned();
        let beside = Identity::of_machine(&file).unwrap();
        assert_ne!(beside.name(), name, "two processes never have one name");
        drop(first);
        assert_eq!(Identity::of_machine(&file).unwrap().name(), name);
    }

    #[test]
    fn a_file_without_a_uuid_gets_one() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("identity");
        for content in [&b""[..], b"nonsense", &[0xff; 36], &[b'x'; 100]] {
            fs::write(&file, content).unwrap();
            let name = Identity::of_machine(&file).unwrap().name().to_owned();
            assert!(is_uuid(name.rsplit('_').next().unwrap()), "{name}");
            assert_eq!(Identity::of_machine(&file).unwrap().name(), name);
        }
    }
}
