//! Signed messages: compression, one-pass signatures, the signed data and the signatures of it.

use flate2::{Decompress, FlushDecompress, Status};
use pgp::crypto::hash::HashAlgorithm;

use super::packet::{Packet, PacketError, PacketReader, tag};
use super::signature::{InvalidSignature, SignaturePacket};
use super::subpacket::Issuer;

/// Bytes of all packets once decompressed: a signature file and a claim of the largest size.
pub(in crate::signature) const MAX_DECOMPRESSED: usize = 100 << 10;
/// Signatures in one message: an image has a handful of signers.
const MAX_SIGNATURES: usize = 16;
/// Packets in one message: two for each signature, the data, and a few markers.
const MAX_PACKETS: usize = 2 * MAX_SIGNATURES + 4;

/// A message and the signatures of its data, none of which is verified yet.
#[derive(Debug)]
pub(in crate::signature) struct SignedMessage {
    pub(in crate::signature) data: Vec<u8>,
    pub(in crate::signature) signatures: Vec<SignaturePacket>,
}

/// Why bytes are not a signed message.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::signature) enum MessageError {
    #[error(transparent)]
    Packet(#[from] PacketError),
    #[error(transparent)]
    Signature(#[from] InvalidSignature),
    #[error("empty file")]
    Empty,
    #[error("compression algorithm {0} is not supported")]
    Compression(u8),
    #[error("corrupt compressed data")]
    Corrupt,
    #[error("more than {MAX_DECOMPRESSED} bytes after decompression")]
    TooLarge,
    #[error("more than {MAX_PACKETS} packets")]
    TooManyPackets,
    #[error("more than {MAX_SIGNATURES} signatures")]
    TooManySignatures,
    #[error("unexpected packet of type {0}")]
    Unexpected(u8),
    #[error("the message is encrypted")]
    Encrypted,
    #[error("the message contains no data; detached signatures are not supported")]
    NoData,
    #[error("the message is not signed")]
    NotSigned,
    #[error("malformed literal data packet")]
    Literal,
    #[error("malformed one-pass signature packet")]
    OnePass,
    #[error("the signatures do not match the one-pass signature packets")]
    Mismatch,
}

/// A one-pass signature packet: describes a signature packet that follows the data.
#[derive(Debug, PartialEq, Eq)]
struct OnePass {
    kind: u8,
    hash: HashAlgorithm,
    key_algorithm: u8,
    key_id: [u8; 8],
    is_last: bool,
}

impl SignedMessage {
    /// Reads a message that is not armored.
    pub(in crate::signature) fn parse(bytes: &[u8]) -> Result<Self, MessageError> {
        let mut outer = packets(bytes)?;
        if let [Packet { tag: tag::COMPRESSED, body }] = outer.as_mut_slice() {
            let inner = decompress(body)?;
            return Self::assemble(packets(&inner)?);
        }
        Self::assemble(outer)
    }

    fn assemble(packets: Vec<Packet<'_>>) -> Result<Self, MessageError> {
        if packets.is_empty() {
            return Err(MessageError::Empty);
        }
        let mut announced = Vec::new();
        let mut data = None;
        let mut signatures: Vec<SignaturePacket> = Vec::new();
        for Packet { tag, body } in packets {
            match tag {
                tag::ONE_PASS_SIGNATURE if data.is_none() && signatures.is_empty() => {
                    announced.push(OnePass::parse(&body)?);
                }
                tag::LITERAL if data.is_none() => data = Some(literal(&body)?),
                // Behind the data, or before it as in PGP 2.
                tag::SIGNATURE if data.is_some() != announced.is_empty() => {
                    signatures.push(SignaturePacket::parse(&body)?);
                }
                1 | 3 | 9 | 18 | 20 => return Err(MessageError::Encrypted),
                // Compressed data inside a message or behind it has no use.
                other => return Err(MessageError::Unexpected(other)),
            }
            if signatures.len().max(announced.len()) > MAX_SIGNATURES {
                return Err(MessageError::TooManySignatures);
            }
        }
        let data = data.ok_or(MessageError::NoData)?;
        if !announced.is_empty() {
            announce(&announced, &mut signatures)?;
        }
        if signatures.is_empty() {
            return Err(MessageError::NotSigned);
        }
        Ok(Self { data, signatures })
    }
}

/// Checks that each signature matches its one-pass signature packet. They nest: the first one-pass
/// packet belongs to the last signature.
fn announce(announced: &[OnePass], signatures: &mut [SignaturePacket]) -> Result<(), MessageError> {
    if announced.len() != signatures.len() {
        return Err(MessageError::Mismatch);
    }
    let (last, before) = announced.split_last().ok_or(MessageError::Mismatch)?;
    if !last.is_last || before.iter().any(|one| one.is_last) {
        return Err(MessageError::Mismatch);
    }
    for (one, signature) in announced.iter().rev().zip(signatures) {
        let is_same = one.kind == signature.kind
            && one.hash == signature.hash
            && one.key_algorithm == signature.key_algorithm;
        // A signature without an issuer gets the key ID of its one-pass signature packet, as in
        // Go's openpgp.
        if signature.issuers.is_empty() {
            signature.issuers.push(Issuer::KeyId(one.key_id));
        }
        let is_named = |issuer: &Issuer| issuer.key_id() == Some(&one.key_id);
        if !is_same || !signature.issuers.iter().all(is_named) {
            return Err(MessageError::Mismatch);
        }
    }
    Ok(())
}

impl OnePass {
    fn parse(body: &[u8]) -> Result<Self, MessageError> {
        let Ok([version, kind, hash, key_algorithm, id @ .., last]) = <[u8; 13]>::try_from(body)
        else {
            return Err(MessageError::OnePass);
        };
        if version != 3 || last > 1 {
            return Err(MessageError::OnePass);
        }
        let hash = HashAlgorithm::from(hash);
        Ok(Self { kind, hash, key_algorithm, key_id: id, is_last: last == 1 })
    }
}

/// Reads all packets except marker packets, which are ignored.
fn packets(bytes: &[u8]) -> Result<Vec<Packet<'_>>, MessageError> {
    let (mut reader, mut packets, mut count) = (PacketReader::new(bytes), Vec::new(), 0);
    while let Some(packet) = reader.next()? {
        count += 1;
        if count > MAX_PACKETS {
            return Err(MessageError::TooManyPackets);
        }
        if packet.tag != tag::MARKER || *packet.body != *b"PGP" {
            packets.push(packet);
        }
    }
    Ok(packets)
}

fn decompress(body: &[u8]) -> Result<Vec<u8>, MessageError> {
    let (algorithm, packed) = body.split_first().ok_or(MessageError::Corrupt)?;
    // One byte more than is allowed shows that there is more.
    let mut unpacked = Vec::with_capacity(MAX_DECOMPRESSED + 1);
    let is_complete = match algorithm {
        0 if packed.len() <= MAX_DECOMPRESSED => return Ok(packed.to_vec()),
        0 => return Err(MessageError::TooLarge),
        1 => inflate(packed, false, &mut unpacked)?,
        2 => inflate(packed, true, &mut unpacked)?,
        3 => decompress_bzip2(packed, &mut unpacked)?,
        other => return Err(MessageError::Compression(*other)),
    };
    match is_complete {
        _ if unpacked.len() > MAX_DECOMPRESSED => Err(MessageError::TooLarge),
        true => Ok(unpacked),
        false => Err(MessageError::Corrupt),
    }
}

/// Fills the output up to its capacity. Returns whether the data ends with the input.
fn inflate(packed: &[u8], has_header: bool, unpacked: &mut Vec<u8>) -> Result<bool, MessageError> {
    let mut decompress = Decompress::new(has_header);
    let status = decompress
        .decompress_vec(packed, unpacked, FlushDecompress::Finish)
        .map_err(|_| MessageError::Corrupt)?;
    Ok(status == Status::StreamEnd && decompress.total_in() == packed.len() as u64)
}

/// The same for bzip2, with at most 2.5 MB of working memory.
fn decompress_bzip2(packed: &[u8], unpacked: &mut Vec<u8>) -> Result<bool, MessageError> {
    let mut decompress = bzip2::Decompress::new(true);
    let status = decompress.decompress_vec(packed, unpacked).map_err(|_| MessageError::Corrupt)?;
    let is_end = status == bzip2::Status::StreamEnd;
    Ok(is_end && decompress.total_in() == packed.len() as u64)
}

/// Returns the data of a literal data packet. Its format, file name and time are not signed.
fn literal(body: &[u8]) -> Result<Vec<u8>, MessageError> {
    let data = || {
        let (&[_format, name], rest) = body.split_first_chunk::<2>()?;
        let (_name_and_time, data) = rest.split_at_checked(usize::from(name) + 4)?;
        Some(data.to_vec())
    };
    data().ok_or(MessageError::Literal)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use bzip2::Compression;
    use bzip2::read::BzEncoder;

    use super::*;

    /// The body of a packet with data that bzip2 has compressed.
    fn bzip2_body(data: &[u8]) -> Vec<u8> {
        let mut body = vec![3];
        BzEncoder::new(data, Compression::best()).read_to_end(&mut body).unwrap();
        body
    }

    #[test]
    fn decompress_of_bzip2_returns_the_data() {
        for size in [0, 1, 1000, MAX_DECOMPRESSED] {
            let data: Vec<u8> = (0..=250).cycle().take(size).collect();
            assert_eq!(decompress(&bzip2_body(&data)), Ok(data));
        }
    }

    #[test]
    fn decompress_of_bzip2_beyond_the_limit_or_corrupt_returns_an_error() {
        let bomb = bzip2_body(&vec![0; 64 << 20]);
        assert!(bomb.len() < 1000);
        for (body, error) in [
            (bomb.clone(), MessageError::TooLarge),
            (bzip2_body(&vec![0; MAX_DECOMPRESSED + 1]), MessageError::TooLarge),
            (bzip2_body(b"data")[..20].to_vec(), MessageError::Corrupt),
            ([bzip2_body(b"data"), vec![0]].concat(), MessageError::Corrupt),
            (vec![3], MessageError::Corrupt),
            (b"\x03BZh9 something else".to_vec(), MessageError::Corrupt),
            (vec![4], MessageError::Compression(4)),
        ] {
            assert_eq!(decompress(&body).unwrap_err(), error);
        }
    }
}
