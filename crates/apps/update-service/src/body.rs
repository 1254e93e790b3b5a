//! Bytes that are ready to be sent: written once, compressed once, and shared by all requests.

use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::HeaderValue;
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;

/// Below this, the headers are longer than what compression saves.
const WORTH_COMPRESSING: usize = 1024;

/// Half of a SHA-256: two documents will not have the same by accident, and nobody gains by one.
const TAG_BYTES: usize = 16;

/// How a document is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Identity,
    Gzip,
}

/// A document, its tags, and its compressed form once somebody asked for it.
///
/// The tags depend on the content alone, so all replicas with the same input have the same.
#[derive(Debug)]
pub(crate) struct Document {
    body: Bytes,
    tag: HeaderValue,
    gzip_tag: HeaderValue,
    gzip: OnceCell<Bytes>,
    worth_compressing: bool,
}

impl Document {
    pub(crate) fn new(body: Vec<u8>) -> Self {
        let digest = hex::encode(&Sha256::digest(&body)[..TAG_BYTES]);
        let tag = |suffix: &str| {
            HeaderValue::try_from(format!("\"{digest}{suffix}\"")).expect("hexadecimal digits")
        };
        Self {
            tag: tag(""),
            gzip_tag: tag("-gzip"),
            gzip: OnceCell::new(),
            worth_compressing: body.len() >= WORTH_COMPRESSING,
            body: body.into(),
        }
    }

    /// A document that is compressed already.
    pub(crate) fn packed(body: Vec<u8>) -> Self {
        Self { worth_compressing: false, ..Self::new(body) }
    }

    pub(crate) fn body(&self) -> &Bytes {
        &self.body
    }

    /// The best coding for a client that may accept compression.
    pub(crate) fn coding(&self, accepts_gzip: bool) -> Coding {
        if accepts_gzip && self.worth_compressing { Coding::Gzip } else { Coding::Identity }
    }

    /// The strong entity tag of one coding.
    pub(crate) fn tag(&self, coding: Coding) -> &HeaderValue {
        match coding {
            Coding::Identity => &self.tag,
            Coding::Gzip => &self.gzip_tag,
        }
    }

    /// The compressed form. It is made by whoever asks first, and others wait for that one.
    pub(crate) async fn gzip(&self) -> Option<Bytes> {
        let compressed = self.gzip.get_or_try_init(|| async {
            let body = self.body.clone();
            tokio::task::spawn_blocking(move || compress(&body).into()).await
        });
        // Fails only while the program ends.
        compressed.await.ok().cloned()
    }
}

/// Gzip without a name or a time in it: the same bytes give the same bytes.
pub(crate) fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("writing to memory");
    encoder.finish().expect("writing to memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_depend_on_content_and_coding() {
        let (one, same, other) =
            (Document::new(b"a".into()), Document::new(b"a".into()), Document::new(b"b".into()));
        assert_eq!(one.tag(Coding::Identity), same.tag(Coding::Identity));
        assert_ne!(one.tag(Coding::Identity), other.tag(Coding::Identity));
        assert_ne!(one.tag(Coding::Identity), one.tag(Coding::Gzip));
        assert_eq!(one.tag(Coding::Gzip), r#""ca978112ca1bbdcafac231b39a23dc4d-gzip""#);
    }

    #[test]
    fn what_is_short_stays_as_it_is() {
        assert_eq!(Document::new(vec![b' '; 100]).coding(true), Coding::Identity);
        assert_eq!(Document::new(vec![b' '; 2000]).coding(true), Coding::Gzip);
        assert_eq!(Document::new(vec![b' '; 2000]).coding(false), Coding::Identity);
    }
}
