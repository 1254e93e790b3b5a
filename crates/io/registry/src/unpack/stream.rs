//! Streams of layers: decompressed, limited, and verified at the end.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::rc::Rc;

use flate2::read::MultiGzDecoder;
use sha2::{Digest as _, Sha256};

use super::{PackedLayer, UnpackError};
use crate::Digest;
use crate::manifest::LayerFormat;

/// Bytes that are exempt from the ratio: small layers of zeros compress better.
const RATIO_ALLOWANCE: u64 = 16 << 20;
/// Bytes of the headers of an entry (path, link, extended attributes), which the tar reader holds
/// in memory.
const MAX_HEADER_BYTES: u64 = 1 << 20;

/// The archive in a layer of a layout, with verification of both digests.
pub(super) struct LayerStream {
    unpacked: LayerArchive,
    packed: Rc<Cell<BlobDigest>>,
    /// Hashes the archive; `None` if it is not compressed and its digest is that of the blob.
    hasher: Option<Sha256>,
}

/// The archive in a layer, decompressed and limited.
pub(crate) struct LayerArchive {
    archive: Box<dyn Read>,
    read: u64,
    max_bytes: u64,
    header_limit: HeaderLimit,
}

/// Limits the headers of an entry, which the tar reader collects in memory. Shared with the reader
/// of the archive; `None` while content is read.
#[derive(Clone)]
pub(crate) struct HeaderLimit(Rc<Cell<Option<u64>>>);

impl HeaderLimit {
    /// Limits what is read next as headers.
    pub(crate) fn expect_headers(&self) {
        self.0.set(Some(MAX_HEADER_BYTES));
    }

    /// Removes the limit for the content of an entry.
    pub(crate) fn expect_content(&self) {
        self.0.set(None);
    }

    fn spend(&self, bytes: usize) -> io::Result<()> {
        let Some(left) = self.0.get() else { return Ok(()) };
        match left.checked_sub(bytes as u64) {
            Some(left) => self.0.set(Some(left)),
            None => return Err(invalid("the headers of an entry are too long")),
        }
        Ok(())
    }
}

/// Digest and size of the blob, once it is read to its end.
#[derive(Default)]
struct BlobDigest {
    digest: Option<(Digest, u64)>,
}

struct HashedFile {
    file: BufReader<File>,
    hasher: Option<Sha256>,
    read: u64,
    packed: Rc<Cell<BlobDigest>>,
}

impl Read for HashedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        if count > 0 {
            self.read += count as u64;
            if let Some(hasher) = &mut self.hasher {
                hasher.update(&buffer[..count]);
            }
        } else if let Some(hasher) = self.hasher.take().filter(|_| !buffer.is_empty()) {
            self.packed.set(BlobDigest { digest: Some((Digest::finish(hasher), self.read)) });
        }
        Ok(count)
    }
}

impl LayerStream {
    pub(super) fn open(layer: &PackedLayer, ratio: u64) -> Result<Self, UnpackError> {
        let failed = |source| UnpackError::Layer { digest: layer.digest.clone(), source };
        let file = BufReader::new(File::open(&layer.path).map_err(failed)?);
        let packed = Rc::new(Cell::new(BlobDigest::default()));
        let hasher = Some(Sha256::new());
        let file = HashedFile { file, hasher, read: 0, packed: Rc::clone(&packed) };
        let unpacked =
            LayerArchive::new(file, &layer.media_type, layer.size, ratio).ok_or_else(|| {
                let (digest, media_type) = (layer.digest.clone(), layer.media_type.clone());
                UnpackError::MediaType { digest, media_type }
            })?;
        let is_gzip = LayerFormat::parse(&layer.media_type) == Some(LayerFormat::TarGzip);
        let hasher = is_gzip.then(Sha256::new);
        Ok(Self { unpacked, packed, hasher })
    }

    pub(super) fn header_limit(&self) -> HeaderLimit {
        self.unpacked.header_limit()
    }

    /// Reads to the end and compares both digests and the size.
    pub(super) fn verify(mut self, layer: &PackedLayer) -> Result<(), UnpackError> {
        io::copy(&mut self, &mut io::sink())
            .map_err(|source| UnpackError::Layer { digest: layer.digest.clone(), source })?;
        let file = self.packed.take().digest;
        let archive = self.hasher.take().map(Digest::finish);
        let archive = archive.or_else(|| file.as_ref().map(|(digest, _)| digest.clone()));
        let expected = (layer.digest.clone(), layer.size);
        if archive.as_ref() == Some(&layer.diff_id) && file == Some(expected) {
            Ok(())
        } else {
            Err(UnpackError::WrongDigest(layer.digest.clone()))
        }
    }
}

impl Read for LayerStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.unpacked.read(buffer)?;
        if let Some(hasher) = &mut self.hasher {
            hasher.update(&buffer[..count]);
        }
        Ok(count)
    }
}

impl LayerArchive {
    /// Opens the archive in a layer; `None` if the media type is not supported.
    pub(crate) fn new(
        layer: impl Read + 'static,
        media_type: &str,
        size: u64,
        ratio: u64,
    ) -> Option<Self> {
        let archive: Box<dyn Read> = match LayerFormat::parse(media_type)? {
            LayerFormat::Tar => Box::new(layer),
            LayerFormat::TarGzip => Box::new(MultiGzDecoder::new(layer)),
        };
        let max_bytes = size.saturating_mul(ratio).saturating_add(RATIO_ALLOWANCE);
        Some(Self { archive, read: 0, max_bytes, header_limit: HeaderLimit(Rc::default()) })
    }

    pub(crate) fn header_limit(&self) -> HeaderLimit {
        self.header_limit.clone()
    }
}

impl Read for LayerArchive {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.archive.read(buffer)?;
        self.read += count as u64;
        if self.read > self.max_bytes {
            return Err(invalid("the uncompressed size exceeds the maximum compression ratio"));
        }
        self.header_limit.spend(count)?;
        Ok(count)
    }
}

fn invalid(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}
