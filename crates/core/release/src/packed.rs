//! JSON text in little memory.

use std::borrow::Cow;
use std::fmt;
use std::io::{Read as _, Write as _};
use std::sync::Arc;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

/// Shorter texts are kept as they are: compression saves next to nothing.
const MIN_PACKED_BYTES: usize = 1024;

/// The JSON text of a manifest. Clones share it. A release has a thousand, some with schemas of a
/// megabyte, and they are read once or twice: compressed, they take a tenth of the memory.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PackedJson {
    Plain(Arc<str>),
    Packed { bytes: Arc<[u8]>, length: usize },
}

impl PackedJson {
    /// The length of the text.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Plain(text) => text.len(),
            Self::Packed { length, .. } => *length,
        }
    }

    pub(crate) fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Plain(text) => Cow::Borrowed(text),
            Self::Packed { bytes, length } => {
                let mut text = String::with_capacity(*length);
                ZlibDecoder::new(&**bytes).read_to_string(&mut text).expect("text packed here");
                Cow::Owned(text)
            }
        }
    }
}

impl From<String> for PackedJson {
    fn from(text: String) -> Self {
        if text.len() < MIN_PACKED_BYTES {
            return Self::Plain(text.into());
        }
        let mut packing = ZlibEncoder::new(Vec::new(), Compression::fast());
        packing.write_all(text.as_bytes()).expect("writing to memory");
        let bytes = packing.finish().expect("writing to memory").into();
        Self::Packed { bytes, length: text.len() }
    }
}

impl fmt::Debug for PackedJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_any_length_is_returned_unchanged() {
        for length in [0, MIN_PACKED_BYTES - 1, MIN_PACKED_BYTES, 100_000] {
            let text = "{\"ä\": 1}".repeat(length / 9 + 1);
            let packed = PackedJson::from(text.clone());
            assert_eq!(packed.text(), text);
            assert_eq!(packed.len(), text.len());
        }
    }
}
