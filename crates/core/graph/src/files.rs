//! Files of a directory, tarball or image, with limits on number and size.

use std::collections::BTreeMap;

/// Files in one set. OpenShift's graph-data has 1,800 and grows by a few hundred a year.
pub const MAX_FILES: usize = 8_192;

/// Bytes of one file. The largest one of OpenShift's graph-data has 4 KiB.
pub const MAX_FILE_BYTES: usize = 1 << 20;

/// Bytes of all files: sixteen times the size of OpenShift's graph-data. Parsed files can need
/// thirty times as much memory.
pub const MAX_BYTES: usize = 16 << 20;

/// Bytes of a path, as for a name in most file systems.
const MAX_PATH: usize = 255;

/// Files, sorted by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    by_path: BTreeMap<String, Vec<u8>>,
    bytes: usize,
}

/// Reason why a file is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilesError {
    /// The set has too many files.
    #[error("more than {MAX_FILES} files")]
    TooMany,
    /// A file is too large.
    #[error("{path} has {size} bytes; the limit is {MAX_FILE_BYTES} bytes")]
    FileTooLarge {
        /// Path of the file.
        path: String,
        /// Size of the file.
        size: u64,
    },
    /// The total size is too large.
    #[error("the files up to {path} exceed the limit of {MAX_BYTES} bytes")]
    TooLarge {
        /// Path of the file that exceeds the limit.
        path: String,
    },
    /// A path leaves the directory, or is invalid.
    #[error("path {path:?} is outside of the directory")]
    Path {
        /// The path.
        path: String,
    },
}

impl Files {
    /// Adds a file. The path is relative and uses `/`.
    pub fn insert(&mut self, path: impl Into<String>, bytes: Vec<u8>) -> Result<(), FilesError> {
        let path = path.into();
        // Tarballs cannot contain NUL in names. Line breaks and escape sequences in names could
        // forge lines of reports and logs.
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

    /// Content of a file.
    pub fn get(&self, path: &str) -> Option<&[u8]> {
        self.by_path.get(path).map(Vec::as_slice)
    }

    /// All files, sorted by path.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.by_path.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
    }

    /// The files directly in a directory, with their whole paths.
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
    fn below_returns_files_of_directory_in_order() {
        let mut files = Files::default();
        for path in ["channels/b.yaml", "version", "channels/a.yaml", "channels/deep/c.yaml"] {
            files.insert(path, path.as_bytes().to_vec()).unwrap();
        }
        let below: Vec<&str> = files.below("channels").map(|(path, _)| path).collect();
        assert_eq!(below, ["channels/a.yaml", "channels/b.yaml"]);
        assert_eq!(files.get("version"), Some(b"version".as_slice()));
    }

    #[test]
    fn insert_beyond_limits_fails() {
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
    fn insert_of_replaced_file_counts_once() {
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
