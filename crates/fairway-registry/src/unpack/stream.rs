//! The bytes of a layer: decompressed, metered, and compared with their digests at the end.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::rc::Rc;

use flate2::read::MultiGzDecoder;
use sha2::{Digest as _, Sha256};

use super::{PackedLayer, UnpackError};
use crate::Digest;

/// Small layers of zeros compress better than any ratio allows, and harm nobody.
const FREE_OF_RATIO: u64 = 16 << 20;
/// Headers with a path, a link and extended attributes; the archive's reader keeps them in memory.
const LARGEST_HEADERS: u64 = 1 << 20;

/// The archive in a layer.
pub(super) struct LayerStream {
    unpacked: Box<dyn Read>,
    packed: Rc<Cell<Packed>>,
    hasher: Option<Sha256>,
    read: u64,
    longest: u64,
    meter: Meter,
}

/// How much the archive's reader may take before it has to give something back.
#[derive(Clone)]
pub(super) struct Meter(Rc<Cell<Option<u64>>>);

impl Meter {
    /// From here on headers are read, which have to be short.
    pub(super) fn expect_headers(&self) {
        self.0.set(Some(LARGEST_HEADERS));
    }

    /// From here on the content of files is read.
    pub(super) fn expect_content(&self) {
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

/// What is known of the file once it was read to its end.
#[derive(Default)]
struct Packed {
    digest: Option<(Digest, u64)>,
}

struct PackedFile {
    file: BufReader<File>,
    hasher: Option<Sha256>,
    read: u64,
    packed: Rc<Cell<Packed>>,
}

impl Read for PackedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        if count > 0 {
            self.read += count as u64;
            if let Some(hasher) = &mut self.hasher {
                hasher.update(&buffer[..count]);
            }
        } else if let Some(hasher) = self.hasher.take().filter(|_| !buffer.is_empty()) {
            self.packed.set(Packed { digest: Some((Digest::finish(hasher), self.read)) });
        }
        Ok(count)
    }
}

impl LayerStream {
    pub(super) fn open(layer: &PackedLayer, ratio: u64) -> Result<Self, UnpackError> {
        let failed = |source| UnpackError::Layer { digest: layer.digest.clone(), source };
        let file = BufReader::new(File::open(&layer.path).map_err(failed)?);
        let packed = Rc::new(Cell::new(Packed::default()));
        let hasher = Some(Sha256::new());
        let file = PackedFile { file, hasher, read: 0, packed: Rc::clone(&packed) };
        let unpacked: Box<dyn Read> = match layer.media_type.as_str() {
            "application/vnd.oci.image.layer.v1.tar+gzip"
            | "application/vnd.docker.image.rootfs.diff.tar.gzip" => {
                Box::new(MultiGzDecoder::new(file))
            }
            "application/vnd.oci.image.layer.v1.tar"
            | "application/vnd.docker.image.rootfs.diff.tar" => Box::new(file),
            other => {
                let (digest, media_type) = (layer.digest.clone(), other.to_owned());
                return Err(UnpackError::MediaType { digest, media_type });
            }
        };
        let longest = layer.size.saturating_mul(ratio).saturating_add(FREE_OF_RATIO);
        let meter = Meter(Rc::default());
        Ok(Self { unpacked, packed, hasher: Some(Sha256::new()), read: 0, longest, meter })
    }

    pub(super) fn meter(&self) -> Meter {
        self.meter.clone()
    }

    /// Reads what is behind the archive, and compares.
    pub(super) fn verify(mut self, layer: &PackedLayer) -> Result<(), UnpackError> {
        io::copy(&mut self, &mut io::sink())
            .map_err(|source| UnpackError::Layer { digest: layer.digest.clone(), source })?;
        let diff_id = self.hasher.take().map(Digest::finish);
        let file = self.packed.take().digest;
        let expected = (layer.digest.clone(), layer.size);
        if diff_id.as_ref() == Some(&layer.diff_id) && file == Some(expected) {
            Ok(())
        } else {
            Err(UnpackError::WrongDigest(layer.digest.clone()))
        }
    }
}

impl Read for LayerStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.unpacked.read(buffer)?;
        self.read += count as u64;
        if self.read > self.longest {
            return Err(invalid("it unpacks to far more than its size lets expect"));
        }
        self.meter.spend(count)?;
        if let Some(hasher) = &mut self.hasher {
            hasher.update(&buffer[..count]);
        }
        Ok(count)
    }
}

fn invalid(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}
