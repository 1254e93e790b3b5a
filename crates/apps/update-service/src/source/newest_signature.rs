//! The newest signature of graph-data. A signature proves who published data, not that the data is
//! the latest: a registry could serve an old image, which lacks recent blocks.

use std::path::PathBuf;
use std::{fs, io};

use fairway_registry::Digest;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::saved_state;

/// File in the state directory.
const FILE: &str = "newest-signature.json";

/// The newest accepted signature, in memory and optionally in a file. Its methods block.
#[derive(Clone, Debug, Default)]
pub(super) struct NewestSignature {
    file: Option<PathBuf>,
    known: Option<AcceptedSignature>,
}

/// An accepted signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AcceptedSignature {
    signature_time: Timestamp,
    image: String,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum NewestSignatureError {
    #[error(
        "signature of {image} is of {signed}, older than that of {newest}, which is of {accepted}; \
         to use the image, sign it again"
    )]
    Older { image: Digest, signed: Timestamp, newest: String, accepted: Timestamp },
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot parse {}; to accept any signed graph-data, delete the file", path.display())]
    Parse { path: PathBuf, source: serde_json::Error },
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

impl NewestSignature {
    /// Stores the signature in a state directory.
    pub(super) fn in_directory(directory: &std::path::Path) -> Self {
        Self { file: Some(directory.join(FILE)), known: None }
    }

    /// Whether the signature survives a restart.
    pub(super) fn is_saved(&self) -> bool {
        self.file.is_some()
    }

    /// Checks that a signature is not older than the newest one. Signatures of the same second are
    /// equally new.
    pub(super) fn check(
        mut self,
        image: &Digest,
        signed: Timestamp,
    ) -> Result<Self, NewestSignatureError> {
        if self.known.is_none() {
            self.known = self.read()?;
        }
        match &self.known {
            Some(newest) if signed < newest.signature_time => Err(NewestSignatureError::Older {
                image: image.clone(),
                signed,
                newest: newest.image.clone(),
                accepted: newest.signature_time,
            }),
            _ => Ok(self),
        }
    }

    /// Accepts a signature. The file is written first, so that a restart does not lose it.
    pub(super) fn accept(
        mut self,
        image: &Digest,
        signed: Timestamp,
    ) -> Result<Self, NewestSignatureError> {
        let accepted = AcceptedSignature { signature_time: signed, image: image.to_string() };
        if let Some(path) = self.file.as_ref().filter(|_| self.known.as_ref() != Some(&accepted)) {
            let failed = |source| NewestSignatureError::Write { path: path.clone(), source };
            let json = serde_json::to_vec(&accepted).map_err(|error| failed(error.into()))?;
            saved_state::write(path, &json).map_err(failed)?;
        }
        self.known = Some(accepted);
        Ok(self)
    }

    fn read(&self) -> Result<Option<AcceptedSignature>, NewestSignatureError> {
        let Some(path) = &self.file else { return Ok(None) };
        let json = match fs::read(path) {
            Ok(json) => json,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(NewestSignatureError::Read { path: path.clone(), source }),
        };
        serde_json::from_slice(&json)
            .map(Some)
            .map_err(|source| NewestSignatureError::Parse { path: path.clone(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn check_after_restart_refuses_older_signature() {
        let directory = tempfile::tempdir().unwrap();
        let state = directory.path().join("state");
        let (old, new) = (Digest::of(b"old"), Digest::of(b"new"));
        let first = NewestSignature::in_directory(&state).check(&new, time(100)).unwrap();
        let same = first.accept(&new, time(100)).unwrap();
        let refusals = [same, NewestSignature::in_directory(&state)].map(|newest| {
            newest.clone().check(&old, time(100)).unwrap();
            newest.clone().check(&old, time(101)).unwrap();
            let older = newest.check(&old, time(99)).unwrap_err().to_string();
            older.replace(old.as_str(), "OLD").replace(new.as_str(), "NEW")
        });
        assert_eq!(refusals[0], refusals[1]);
        insta::assert_snapshot!(refusals[0], @"signature of OLD is of 1970-01-01T00:01:39Z, older than that of NEW, which is of 1970-01-01T00:01:40Z; to use the image, sign it again");
        // Without a file, a restart accepts any signature.
        NewestSignature::default().check(&old, time(99)).unwrap();
    }

    #[test]
    fn check_with_invalid_file_refuses_all_signatures() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(FILE), "{}").unwrap();
        let newest = NewestSignature::in_directory(directory.path());
        assert!(newest.check(&Digest::of(b"new"), time(100)).is_err());
    }
}
