//! Response bodies: serialized once, compressed once, shared by all requests.

use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::HeaderValue;
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;

/// Smaller bodies are not compressed: the headers would outweigh the savings.
const MIN_COMPRESSED_BYTES: usize = 1024;

/// Bytes of an entity tag: half of a SHA-256 digest. Accidental collisions do not occur, and a
/// deliberate one has no use.
const TAG_BYTES: usize = 16;

/// Content coding of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Identity,
    Gzip,
}

/// A body with its entity tags, and its compressed form after the first request for it.
///
/// The tags depend only on the content, so replicas with the same input have the same tags.
#[derive(Debug)]
pub(crate) struct ResponseBody {
    body: Bytes,
    tag: HeaderValue,
    gzip_tag: HeaderValue,
    gzip: OnceCell<Bytes>,
    is_compressible: bool,
}

impl ResponseBody {
    pub(crate) fn new(body: Vec<u8>) -> Self {
        let digest = hex::encode(&Sha256::digest(&body)[..TAG_BYTES]);
        let tag = |suffix: &str| {
            HeaderValue::try_from(format!("\"{digest}{suffix}\"")).expect("hexadecimal digits")
        };
        Self {
            tag: tag(""),
            gzip_tag: tag("-gzip"),
            gzip: OnceCell::new(),
            is_compressible: body.len() >= MIN_COMPRESSED_BYTES,
            body: body.into(),
        }
    }

    /// A body that is already compressed.
    pub(crate) fn compressed(body: Vec<u8>) -> Self {
        Self { is_compressible: false, ..Self::new(body) }
    }

    pub(crate) fn body(&self) -> &Bytes {
        &self.body
    }

    /// The coding for a client that may accept gzip.
    pub(crate) fn coding(&self, accepts_gzip: bool) -> Coding {
        if accepts_gzip && self.is_compressible { Coding::Gzip } else { Coding::Identity }
    }

    /// The strong entity tag of one coding.
    pub(crate) fn tag(&self, coding: Coding) -> &HeaderValue {
        match coding {
            Coding::Identity => &self.tag,
            Coding::Gzip => &self.gzip_tag,
        }
    }

    /// The compressed form. The first request creates it, and concurrent ones wait for it.
    pub(crate) async fn gzip(&self) -> Option<Bytes> {
        let compressed = self.gzip.get_or_try_init(|| async {
            let body = self.body.clone();
            tokio::task::spawn_blocking(move || compress(&body).into()).await
        });
        // Fails only while the process ends.
        compressed.await.ok().cloned()
    }
}

/// gzip without file name and time: the same input gives the same bytes.
pub(crate) fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("writing to memory");
    encoder.finish().expect("writing to memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag_depends_on_content_and_coding() {
        let (one, same, other) = (
            ResponseBody::new(b"a".into()),
            ResponseBody::new(b"a".into()),
            ResponseBody::new(b"b".into()),
        );
        assert_eq!(one.tag(Coding::Identity), same.tag(Coding::Identity));
        assert_ne!(one.tag(Coding::Identity), other.tag(Coding::Identity));
        assert_ne!(one.tag(Coding::Identity), one.tag(Coding::Gzip));
        assert_eq!(one.tag(Coding::Gzip), r#""ca978112ca1bbdcafac231b39a23dc4d-gzip""#);
    }

    #[test]
    fn coding_of_short_body_is_identity() {
        assert_eq!(ResponseBody::new(vec![b' '; 100]).coding(true), Coding::Identity);
        assert_eq!(ResponseBody::new(vec![b' '; 2000]).coding(true), Coding::Gzip);
        assert_eq!(ResponseBody::new(vec![b' '; 2000]).coding(false), Coding::Identity);
    }
}
