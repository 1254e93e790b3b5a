//! Ports for pods, which share the network of the host.

use std::io;
use std::net::{Ipv4Addr, TcpListener};

/// Range below the ephemeral ports of Linux (`net.ipv4.ip_local_port_range` begins at 32768), which
/// outgoing connections can take at any time.
const FIRST_PORT: u16 = 20_000;
const PORT_COUNT: u16 = 12_768;

/// Attempts before the operating system chooses.
const MAX_ATTEMPTS: usize = 100;

/// A port of 127.0.0.1 that no process listens on.
pub fn unused_port() -> io::Result<u16> {
    for _ in 0..MAX_ATTEMPTS {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a random number from 0 to 1, times a number of ports"
        )]
        let offset = (fairway_clock::random_unit() * f64::from(PORT_COUNT)) as u16;
        let port = FIRST_PORT + offset.min(PORT_COUNT - 1);
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_port_is_below_ephemeral_range() {
        for _ in 0..20 {
            let port = unused_port().unwrap();
            assert!((FIRST_PORT..FIRST_PORT + PORT_COUNT).contains(&port), "{port}");
        }
    }
}
