//! Free ports for components that cannot choose one themselves.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::berth::Berth;
use crate::cell::Component;
use crate::{http, wait};

/// Another process may take the port between the choice and the start; three times in a row it
/// does not.
const ATTEMPTS: usize = 3;

/// Ten times what a registry or Prometheus needs on two busy cores.
const START: Duration = Duration::from_mins(1);

/// What every component written in Go says of a port that is taken.
const TAKEN: &str = "address already in use";

/// Starts a component on a free port of 127.0.0.1 and waits until `path` answers with success.
pub(crate) fn start_on_free_port(
    berth: &mut Berth,
    path: &str,
    mut start: impl FnMut(&mut Berth, SocketAddr) -> Result<Component>,
) -> Result<SocketAddr> {
    let mut last = None;
    for _ in 0..ATTEMPTS {
        let address = free_address()?;
        let component = start(berth, address)?;
        match until_ready(&component, address, path) {
            Ok(()) => return Ok(address),
            Err(error) if format!("{error:#}").contains(TAKEN) => last = Some(error),
            Err(error) => return Err(error),
        }
        berth.forget(&component);
    }
    Err(last.context("no attempt")?)
}

fn until_ready(component: &Component, address: SocketAddr, path: &str) -> Result<()> {
    let what = format!("{} to be ready (http://{address}{path})", component.name);
    wait::until_logged(&what, START, &component.log, || {
        component.ensure_alive()?;
        // Until it listens, it refuses connections.
        let answer = http::get(address, path).ok();
        Ok(answer.filter(|answer| answer.status == 200).map(drop))
    })
}

fn free_address() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port")?;
    Ok(listener.local_addr()?)
}
