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

/// What a layer is called that is an archive.
const PLAIN: [&str; 2] =
    ["application/vnd.oci.image.layer.v1.tar", "application/vnd.docker.image.rootfs.diff.tar"];
/// What a layer is called that is a compressed one.
const PACKED: [&str; 2] = [
    "application/vnd.oci.image.layer.v1.tar+gzip",
    "application/vnd.docker.image.rootfs.diff.tar.gzip",
];

fn is_packed(media_type: &str) -> bool {
    PACKED.contains(&media_type)
}

/// The archive in a layer, and whether it is the one that it should be.
pub(super) struct LayerStream {
    unpacked: Unpacked,
    packed: Rc<Cell<Packed>>,
    /// Of the archive, unless the file is the archive.
    hasher: Option<Sha256>,
}

/// The archive in a layer, within limits.
pub(crate) struct Unpacked {
    archive: Box<dyn Read>,
    read: u64,
    longest: u64,
    meter: Meter,
}

/// How much the archive's reader may take before it has to give something back.
#[derive(Clone)]
pub(crate) struct Meter(Rc<Cell<Option<u64>>>);

impl Meter {
    /// From here on headers are read, which have to be short.
    pub(crate) fn expect_headers(&self) {
        self.0.set(Some(LARGEST_HEADERS));
    }

    /// From here on the content of files is read.
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
        let unpacked =
            Unpacked::new(file, &layer.media_type, layer.size, ratio).ok_or_else(|| {
                let (digest, media_type) = (layer.digest.clone(), layer.media_type.clone());
                UnpackError::MediaType { digest, media_type }
            })?;
        let hasher = is_packed(&layer.media_type).then(Sha256::new);
        Ok(Self { unpacked, packed, hasher })
    }

    pub(super) fn meter(&self) -> Meter {
        self.unpacked.meter()
    }

    /// Reads what is behind the archive, and compares.
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

impl Unpacked {
    /// The archive in a layer of that type and size; `None` if the type is not known here.
    pub(crate) fn new(
        layer: impl Read + 'static,
        media_type: &str,
        size: u64,
        ratio: u64,
    ) -> Option<Self> {
        let archive: Box<dyn Read> = if is_packed(media_type) {
            Box::new(MultiGzDecoder::new(layer))
        } else if PLAIN.contains(&media_type) {
            Box::new(layer)
        } else {
            return None;
        };
        let longest = size.saturating_mul(ratio).saturating_add(FREE_OF_RATIO);
        Some(Self { archive, read: 0, longest, meter: Meter(Rc::default()) })
    }

    pub(crate) fn meter(&self) -> Meter {
        self.meter.clone()
    }
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.archive.read(buffer)?;
        self.read += count as u64;
        if self.read > self.longest {
            return Err(invalid("the uncompressed size exceeds the maximum compression ratio"));
        }
        self.meter.spend(count)?;
        Ok(count)
    }
}

fn invalid(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}
