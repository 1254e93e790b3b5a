//! What is said on the sockets between the sandbox and the processes of a container.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A program's arguments and environment have at most a quarter of this.
pub const LONGEST_MESSAGE: usize = 8 << 20;

/// What the sandbox wants of a running container, after its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// To pass this signal on to its program.
    Signal(i32),
}

/// What a container tells the sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Report {
    /// The program runs, as this process of the machine.
    Running {
        /// Its number.
        process: i32,
    },
    /// It could not be started.
    Refused {
        /// Why.
        message: String,
    },
    /// It has ended.
    Ended {
        /// As a shell tells it: 128 more than the signal that ended it.
        code: i32,
    },
}

/// Writes a message: its length, and what it is.
pub fn send(mut out: impl Write, message: &impl Serialize) -> io::Result<()> {
    out.write_all(&encode(message)?)
}

/// A message as it is written.
pub fn encode(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let text = serde_json::to_vec(message)?;
    let length = u32::try_from(text.len()).ok().filter(|_| text.len() <= LONGEST_MESSAGE);
    let length = length.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    Ok([&length.to_be_bytes(), text.as_slice()].concat())
}

/// Reads a message; `None` where the other side has closed the socket.
pub fn receive<T: DeserializeOwned>(mut from: impl Read) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    if let Err(error) = from.read_exact(&mut length) {
        let closed = error.kind() == io::ErrorKind::UnexpectedEof;
        return if closed { Ok(None) } else { Err(error) };
    }
    let length = u32::from_be_bytes(length) as usize;
    if length > LONGEST_MESSAGE {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut text = vec![0; length];
    from.read_exact(&mut text)?;
    Ok(Some(serde_json::from_slice(&text)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_as_they_were_sent() {
        let report = Report::Refused { message: "no".to_owned() };
        let mut wire = Vec::new();
        send(&mut wire, &report).unwrap();
        send(&mut wire, &Report::Ended { code: 3 }).unwrap();
        let mut wire = wire.as_slice();
        assert_eq!(receive(&mut wire).unwrap(), Some(report));
        assert_eq!(receive(&mut wire).unwrap(), Some(Report::Ended { code: 3 }));
        assert_eq!(receive::<Report>(&mut wire).unwrap(), None);
    }

    #[test]
    fn half_a_message_and_an_endless_one_are_errors() {
        assert!(receive::<Report>(&[0, 0, 0, 9, b'{'][..]).is_err());
        assert!(receive::<Report>(&[255, 255, 255, 255, b'{'][..]).is_err());
    }
}
