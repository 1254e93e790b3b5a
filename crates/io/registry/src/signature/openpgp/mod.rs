//! Reader for the OpenPGP packets of release signatures and keyrings.
//!
//! The `pgp` crate verifies neither version 3 signatures nor bodies in short partial lengths, and
//! real release signatures have both. This module therefore reads packets, messages and signatures
//! itself and takes only hash functions and public-key operations from the crate. It is stricter
//! than RFC 9580 wherever the standard leaves room: each message has one reading.

mod message;
mod packet;
mod signature;
mod subpacket;

pub(super) use message::SignedMessage;
pub(super) use packet::{PacketError, PacketReader, tag};
pub(super) use signature::{InvalidSignature, SignaturePacket, after, kind};
pub(super) use subpacket::Issuer;
