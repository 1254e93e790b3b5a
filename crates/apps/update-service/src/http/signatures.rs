//! Signatures of release images, from a directory.

use std::io;
use std::path::Path;

use http::StatusCode;
use tokio::io::AsyncReadExt as _;

use super::refusal::Refusal;
use super::{Answer, reply};
use crate::state::State;

/// A signature has some hundred bytes; with certificates, some thousand.
const MAX_SIGNATURE: u64 = 64 << 10;

/// Characters of a SHA-256.
const DIGEST: usize = 64;

const BINARY: &str = "application/octet-stream";

/// The signature of that name for an image.
pub(super) async fn signature(
    state: &State,
    algorithm: &str,
    digest: &str,
    name: &str,
) -> Result<Answer, Refusal> {
    let missing = || Refusal::DoesNotExist(format!("{name} for {algorithm}={digest}"));
    let directory = state.settings.signatures.as_ref().ok_or_else(missing)?;
    if !is_signature(algorithm, digest, name) {
        return Err(missing());
    }
    // As graph-data has them, or as stores have them.
    for place in [format!("{algorithm}/{digest}"), format!("{algorithm}={digest}")] {
        let path = directory.join(place).join(name);
        match read(&path).await {
            Ok(bytes) => return Ok(reply::momentary(StatusCode::OK, BINARY, bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                tracing::error!(path = %path.display(), %error, "cannot read signature");
                return Err(Refusal::File);
            }
        }
    }
    Err(missing())
}

/// A whole file, if it is one: opening anything else may never end.
async fn read(path: &Path) -> io::Result<Vec<u8>> {
    if !tokio::fs::metadata(path).await?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    let file = tokio::fs::File::open(path).await?;
    let size = file.take(MAX_SIGNATURE + 1).read_to_end(&mut bytes).await?;
    if size as u64 > MAX_SIGNATURE { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

/// Whether it can be a signature: then none of it leads out of the directory.
fn is_signature(algorithm: &str, digest: &str, name: &str) -> bool {
    let hexadecimal = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let number = name.strip_prefix("signature-").unwrap_or_default();
    algorithm == "sha256"
        && digest.len() == DIGEST
        && digest.bytes().all(hexadecimal)
        && (1..=4).contains(&number.len())
        && number.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leads_out_of_the_directory() {
        let digest = "ab".repeat(32);
        assert!(is_signature("sha256", &digest, "signature-1"));
        for (algorithm, digest, name) in [
            ("sha256", "../x", "signature-1"),
            ("..", digest.as_str(), "signature-1"),
            ("sha256", &digest, "signature-"),
            ("sha256", &digest, "signature-1/../2"),
            ("sha256", &digest.to_uppercase(), "signature-1"),
            ("sha256", &digest[1..], "signature-1"),
            ("sha512", &digest, "signature-1"),
        ] {
            assert!(!is_signature(algorithm, digest, name), "{algorithm} {digest} {name}");
        }
    }
}
