//! Identity of a candidate, by which it recognises its own Lease after a restart.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;

/// Length of a UUID.
const UUID_BYTES: u64 = 36;

/// The identity in the Lease, with a lock against its use by another process.
#[derive(Debug)]
pub struct Identity {
    name: String,
    /// Held while the process uses the identity.
    _lock: Option<File>,
}

impl Identity {
    /// The UID of the Pod: only one of its containers runs at a time.
    pub fn of_pod(uid: &str) -> Self {
        Self { name: uid.to_owned(), _lock: None }
    }

    /// Host name and a UUID from a file. While another process holds the file, the UUID is new.
    pub fn of_host(file: &Path) -> io::Result<Self> {
        let host = fs::read_to_string("/proc/sys/kernel/hostname")?;
        let (uuid, lock) = match open_locked(file)? {
            Some(mut file) => (read_or_write_uuid(&mut file)?, Some(file)),
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

/// The UUID in the file; writes one if the file has none.
fn read_or_write_uuid(file: &mut File) -> io::Result<String> {
    let mut text = String::new();
    // Invalid UTF-8 is no UUID.
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
    fn identity_of_host_is_stable_across_restarts() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("state/identity");
        let first = Identity::of_host(&file).unwrap();
        let name = first.name().to_owned();
        let beside = Identity::of_host(&file).unwrap();
        assert_ne!(beside.name(), name, "concurrent processes have different identities");
        drop(first);
        assert_eq!(Identity::of_host(&file).unwrap().name(), name);
    }

    #[test]
    fn identity_of_invalid_file_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("identity");
        for content in [&b""[..], b"nonsense", &[0xff; 36], &[b'x'; 100]] {
            fs::write(&file, content).unwrap();
            let name = Identity::of_host(&file).unwrap().name().to_owned();
            assert!(is_uuid(name.rsplit('_').next().unwrap()), "{name}");
            assert_eq!(Identity::of_host(&file).unwrap().name(), name);
        }
    }
}
