//! The wire format of Protocol Buffers.

use super::ProtobufError;

/// The content of a field, by how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message, one after the other.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    fn field(&mut self) -> Result<(u32, Content<'a>), ProtobufError> {
        let key = number(&mut self.rest)?;
        let field = u32::try_from(key >> 3).map_err(|_| ProtobufError::Malformed)?;
        let content = match key & 7 {
            0 => Content::Number(number(&mut self.rest)?),
            1 => Content::Number(u64::from_le_bytes(self.fixed()?)),
            2 => {
                let length = number(&mut self.rest)?;
                let length = usize::try_from(length).map_err(|_| ProtobufError::Malformed)?;
                Content::Bytes(self.take(length)?)
            }
            5 => Content::Number(u32::from_le_bytes(self.fixed()?).into()),
            _ => return Err(ProtobufError::Malformed),
        };
        Ok((field, content))
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], ProtobufError> {
        self.take(N)?.try_into().map_err(|_| ProtobufError::Malformed)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], ProtobufError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(ProtobufError::Malformed)?;
        self.rest = rest;
        Ok(taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Content<'a>), ProtobufError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

/// A number of up to 64 bits, seven in each byte.
pub(super) fn number(rest: &mut &[u8]) -> Result<u64, ProtobufError> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, others) = rest.split_first().ok_or(ProtobufError::Malformed)?;
        *rest = others;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(ProtobufError::Malformed)
}
