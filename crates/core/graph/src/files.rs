//! Files as they come from a directory, a tarball or an image: names and bytes, within limits.

use std::collections::BTreeMap;

/// Files in one set. The real graph-data has 1,800 and grows by a few hundred a year.
pub const MAX_FILES: usize = 8_192;

/// Bytes of one file. The largest real one has 4 KiB.
pub const MAX_FILE_BYTES: usize = 1 << 20;

/// Bytes of all files together: sixteen times what the real graph-data has. What is made of them in
/// memory may take thirty times as much.
pub const MAX_BYTES: usize = 16 << 20;

/// Characters of a path: what file systems allow in one name.
const MAX_PATH: usize = 255;

/// Files by path, in the order of their paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    by_path: BTreeMap<String, Vec<u8>>,
    bytes: usize,
}

/// Why a file is not taken into a set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilesError {
    /// There are more files than are looked at.
    #[error("more than {MAX_FILES} files")]
    TooMany,
    /// One file is too large.
    #[error("{path} has {size} bytes; the limit is {MAX_FILE_BYTES} bytes")]
    FileTooLarge {
        /// Its path.
        path: String,
        /// Its size.
        size: u64,
    },
    /// All files together are too large.
    #[error("the files up to {path} exceed the limit of {MAX_BYTES} bytes")]
    TooLarge {
        /// The path at which the limit was crossed.
        path: String,
    },
    /// A path leads out of the set, or is no path.
    #[error("path {path:?} is outside of the directory")]
    Path {
        /// The path.
        path: String,
    },
}

impl Files {
    /// Adds a file. Its path is relative, with `/` between its parts.
    pub fn insert(&mut self, path: impl Into<String>, bytes: Vec<u8>) -> Result<(), FilesError> {
        let path = path.into();
        // A zero byte cannot stand in an archive of these files, and names with line breaks or
        // escape sequences could say in reports and logs what nobody wrote there.
        let odd = |letter: char| letter == '\\' || letter.is_control();
        let plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(odd);
        if path.len() > MAX_PATH || !path.split('/').all(plain) {
            return Err(FilesError::Path { path });
        }
        if bytes.len() > MAX_FILE_BYTES {
            return Err(FilesError::FileTooLarge { path, size: bytes.len() as u64 });
        }
        let replaced = self.by_path.get(&path).map_or(0, Vec::len);
        if self.bytes - replaced + bytes.len() > MAX_BYTES {
            return Err(FilesError::TooLarge { path });
        }
        if self.by_path.len() == MAX_FILES && !self.by_path.contains_key(&path) {
            return Err(FilesError::TooMany);
        }
        self.bytes = self.bytes - replaced + bytes.len();
        self.by_path.insert(path, bytes);
        Ok(())
    }

    /// The bytes of a file.
    pub fn get(&self, path: &str) -> Option<&[u8]> {
        self.by_path.get(path).map(Vec::as_slice)
    }

    /// All files, in the order of their paths.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.by_path.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
    }

    /// The files right below a directory, with their whole paths.
    pub fn below<'a>(&'a self, directory: &'a str) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        self.iter().filter(move |(path, _)| {
            path.rsplit_once('/').is_some_and(|(parent, _)| parent == directory)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_directory_in_order() {
        let mut files = Files::default();
        for path in ["channels/b.yaml", "version", "channels/a.yaml", "channels/deep/c.yaml"] {
            files.insert(path, path.as_bytes().to_vec()).unwrap();
        }
        let below: Vec<&str> = files.below("channels").map(|(path, _)| path).collect();
        assert_eq!(below, ["channels/a.yaml", "channels/b.yaml"]);
        assert_eq!(files.get("version"), Some(b"version".as_slice()));
    }

    #[test]
    fn limits_hold() {
        let mut files = Files::default();
        for path in [
            "",
            "/etc/passwd",
            "../version",
            "channels/../../version",
            "a//b",
            "a/",
            "a\\b",
            "a\0b",
            "a\nb",
            "a\u{1b}[31mb",
            "a\u{85}b",
        ] {
            let error = files.insert(path, Vec::new()).unwrap_err();
            assert_eq!(error, FilesError::Path { path: path.to_owned() });
        }
        let large = files.insert("large", vec![0; MAX_FILE_BYTES + 1]).unwrap_err();
        insta::assert_snapshot!(large, @"large has 1048577 bytes; the limit is 1048576 bytes");
        for number in 0..MAX_FILES {
            files.insert(number.to_string(), Vec::new()).unwrap();
        }
        assert_eq!(files.insert("one more", Vec::new()), Err(FilesError::TooMany));
        files.insert("0", b"again".to_vec()).unwrap();
    }

    #[test]
    fn a_file_that_is_replaced_is_counted_once() {
        let mut files = Files::default();
        for _ in 0..2 * (MAX_BYTES / MAX_FILE_BYTES) {
            files.insert("same", vec![0; MAX_FILE_BYTES]).unwrap();
        }
        for number in 1..MAX_BYTES / MAX_FILE_BYTES {
            files.insert(number.to_string(), vec![0; MAX_FILE_BYTES]).unwrap();
        }
        let error = files.insert("last", vec![0]).unwrap_err();
        assert_eq!(error, FilesError::TooLarge { path: "last".to_owned() });
    }
}
