//! Packet framing: headers in the old and the new format, and all kinds of body lengths.

use std::borrow::Cow;

/// Packet types.
pub(in crate::signature) mod tag {
    pub(in crate::signature) const SIGNATURE: u8 = 2;
    pub(in crate::signature) const ONE_PASS_SIGNATURE: u8 = 4;
    pub(in crate::signature) const SECRET_KEY: u8 = 5;
    pub(in crate::signature) const PUBLIC_KEY: u8 = 6;
    pub(in crate::signature) const COMPRESSED: u8 = 8;
    pub(in crate::signature) const MARKER: u8 = 10;
    pub(in crate::signature) const LITERAL: u8 = 11;
    pub(in crate::signature) const USER_ID: u8 = 13;
    pub(in crate::signature) const PUBLIC_SUBKEY: u8 = 14;
}

/// A packet: its type and its complete body.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::signature) struct Packet<'a> {
    pub(in crate::signature) tag: u8,
    pub(in crate::signature) body: Cow<'a, [u8]>,
}

/// Why bytes are not a sequence of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::signature) enum PacketError {
    #[error("not an OpenPGP packet")]
    NotAPacket,
    #[error("truncated packet")]
    Truncated,
    #[error("packet of type {0} without a definite length")]
    IndefiniteLength(u8),
}

/// Reads one packet after the other.
#[derive(Debug)]
pub(in crate::signature) struct PacketReader<'a> {
    rest: &'a [u8],
}

/// The length of a body, or of its next part.
enum BodyLength {
    Definite(usize),
    Partial(usize),
    /// As far as the enclosing data.
    Indeterminate,
}

impl<'a> PacketReader<'a> {
    pub(in crate::signature) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Returns the next packet, or `None` at the end.
    pub(in crate::signature) fn next(&mut self) -> Result<Option<Packet<'a>>, PacketError> {
        let Some((&header, rest)) = self.rest.split_first() else { return Ok(None) };
        self.rest = rest;
        let (tag, length) = match header {
            0..0x80 => return Err(PacketError::NotAPacket),
            0x80..0xC0 => ((header >> 2) & 0xF, self.old_length(header & 3)?),
            0xC0.. => (header & 0x3F, self.new_length()?),
        };
        let may_be_indefinite = matches!(tag, tag::COMPRESSED | tag::LITERAL);
        let body = match length {
            _ if tag == 0 => return Err(PacketError::NotAPacket),
            BodyLength::Definite(length) => Cow::Borrowed(self.take(length)?),
            // RFC 9580, section 4.2.1.4: only packets that carry data have such lengths.
            _ if !may_be_indefinite => return Err(PacketError::IndefiniteLength(tag)),
            BodyLength::Indeterminate => Cow::Borrowed(std::mem::take(&mut self.rest)),
            BodyLength::Partial(first) => Cow::Owned(self.parts(first)?),
        };
        Ok(Some(Packet { tag, body }))
    }

    fn old_length(&mut self, kind: u8) -> Result<BodyLength, PacketError> {
        Ok(match kind {
            0 => BodyLength::Definite(self.number(1)?),
            1 => BodyLength::Definite(self.number(2)?),
            2 => BodyLength::Definite(self.number(4)?),
            _ => BodyLength::Indeterminate,
        })
    }

    fn new_length(&mut self) -> Result<BodyLength, PacketError> {
        Ok(match self.number(1)? {
            short @ 0..192 => BodyLength::Definite(short),
            high @ 192..224 => BodyLength::Definite(((high - 192) << 8) + self.number(1)? + 192),
            255 => BodyLength::Definite(self.number(4)?),
            power => BodyLength::Partial(1 << (power & 0x1F)),
        })
    }

    /// Joins the parts of a body. Go's openpgp begins with parts of fewer than the 512 bytes that
    /// the standard demands; gpg and Go read any size.
    fn parts(&mut self, first: usize) -> Result<Vec<u8>, PacketError> {
        let mut body = self.take(first)?.to_vec();
        loop {
            match self.new_length()? {
                BodyLength::Partial(length) => body.extend_from_slice(self.take(length)?),
                BodyLength::Definite(length) => {
                    body.extend_from_slice(self.take(length)?);
                    return Ok(body);
                }
                BodyLength::Indeterminate => return Err(PacketError::NotAPacket),
            }
        }
    }

    fn number(&mut self, bytes: usize) -> Result<usize, PacketError> {
        Ok(self.take(bytes)?.iter().fold(0, |number, byte| (number << 8) | usize::from(*byte)))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], PacketError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(PacketError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Vec<(u8, Vec<u8>)>, PacketError> {
        let mut reader = PacketReader::new(bytes);
        let mut packets = Vec::new();
        while let Some(Packet { tag, body }) = reader.next()? {
            packets.push((tag, body.into_owned()));
        }
        Ok(packets)
    }

    #[test]
    fn next_with_every_kind_of_length_returns_the_body() {
        let long = vec![7; 200];
        for (header, body) in [
            (&[0xAC, 2][..], &[1, 2][..]),
            (&[0xAD, 0, 2], &[1, 2]),
            (&[0xAE, 0, 0, 0, 2], &[1, 2]),
            (&[0xAF], &[1, 2]),
            (&[0xCB, 2], &[1, 2]),
            (&[0xCB, 192, 8], &long),
            (&[0xCB, 255, 0, 0, 0, 200], &long),
        ] {
            assert_eq!(read(&[header, body].concat()), Ok(vec![(11, body.to_vec())]), "{header:?}");
        }
        assert_eq!(read(&[]), Ok(vec![]));
        assert_eq!(read(&[0xC6, 1, 9, 0x88, 0]), Ok(vec![(6, vec![9]), (2, vec![])]));
    }

    #[test]
    fn next_with_short_parts_joins_them() {
        // Parts of 2, 1 and 0 bytes.
        let packet = [0xCB, 225, 1, 2, 224, 3, 0, 0x88, 0];
        assert_eq!(read(&packet), Ok(vec![(11, vec![1, 2, 3]), (2, vec![])]));
    }

    #[test]
    fn next_with_malformed_bytes_fails() {
        let cases: [(&[u8], PacketError); 12] = [
            (&[0x7F], PacketError::NotAPacket),
            (&[0x80, 0], PacketError::NotAPacket),
            (&[0xC0, 0], PacketError::NotAPacket),
            (&[0xC2], PacketError::Truncated),
            (&[0xC2, 1], PacketError::Truncated),
            (&[0xC2, 193], PacketError::Truncated),
            (&[0xC2, 255, 255, 255, 255, 255, 1], PacketError::Truncated),
            (&[0x8A, 255, 255, 255], PacketError::Truncated),
            (&[0xCB, 254, 1], PacketError::Truncated),
            (&[0xCB, 224, 1], PacketError::Truncated),
            (&[0x8B, 1], PacketError::IndefiniteLength(2)),
            (&[0xC2, 224, 1, 0], PacketError::IndefiniteLength(2)),
        ];
        for (bytes, error) in cases {
            assert_eq!(read(bytes), Err(error), "{bytes:?}");
        }
    }
}
