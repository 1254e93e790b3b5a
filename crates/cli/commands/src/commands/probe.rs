//! `fairway probe`: an exec probe. A listener on loopback is out of reach of other pods, and the kubelet
//! reaches it only with a command in the container, whose image has no other commands.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context as _, bail};

use crate::args::ProbeArgs;
use crate::exit::ExitStatus;

/// Timeout of connecting, writing and reading, each. The process responds from memory.
const IO_TIMEOUT: Duration = Duration::from_secs(1);

/// Maximum size of a response: a status line, some headers and a short reason.
const MAX_RESPONSE_BYTES: u64 = 4 << 10;

pub(crate) fn run(args: &ProbeArgs) -> anyhow::Result<ExitStatus> {
    let ProbeArgs { address, path } = args;
    let response = get(*address, path).with_context(|| format!("cannot probe {address}"))?;
    let (head, body) = response.split_once("\r\n\r\n").unwrap_or((&response, ""));
    let status = head.lines().next().and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
    if status != "200" {
        bail!("the response to {path} is {status}: {}", body.trim());
    }
    Ok(ExitStatus::Success)
}

fn get(address: SocketAddr, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, IO_TIMEOUT)?;
    stream.set_write_timeout(Some(IO_TIMEOUT))?;
    stream.set_read_timeout(Some(IO_TIMEOUT))?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut response = Vec::new();
    stream.take(MAX_RESPONSE_BYTES).read_to_end(&mut response)?;
    Ok(String::from_utf8_lossy(&response).into_owned())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Probes a server that sends one response.
    fn probe(response: &'static str) -> Result<ExitStatus, String> {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = socket.accept().unwrap();
            let mut request = [0; 256];
            let size = stream.read(&mut request).unwrap();
            stream.write_all(response.as_bytes()).unwrap();
            String::from_utf8_lossy(&request[..size]).into_owned()
        });
        let result = run(&ProbeArgs { address, path: "/readyz".to_owned() });
        assert!(server.join().unwrap().starts_with("GET /readyz HTTP/1.1\r\n"));
        result.map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn probe_fails_unless_the_status_is_200() {
        let ready = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
        assert_eq!(probe(ready), Ok(ExitStatus::Success));
        let unready = "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 13\r\n\r\nshutting down";
        let printed = [unready, "nonsense"].map(|response| probe(response).unwrap_err());
        insta::assert_snapshot!(printed.join("\n"), @r"
        the response to /readyz is 503: shutting down
        the response to /readyz is :
        ");
    }

    #[test]
    fn probe_without_listener_fails() {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        drop(socket);
        let error = run(&ProbeArgs { address, path: "/readyz".to_owned() }).unwrap_err();
        let text = format!("{error:#}").replace(&address.to_string(), "ADDRESS");
        insta::assert_snapshot!(text, @"cannot probe ADDRESS: Connection refused (os error 111)");
    }
}
