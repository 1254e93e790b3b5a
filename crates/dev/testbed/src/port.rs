//! Free ports for components that cannot choose one.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::managed_run::ManagedRun;
use crate::pid_namespace::Component;
use crate::{http, wait};

/// Maximum number of ports to try: another process may bind a port between its choice and the start
/// of the component.
const MAX_ATTEMPTS: usize = 3;

/// Ten times the start of a registry or Prometheus on two busy cores.
const START_TIMEOUT: Duration = Duration::from_mins(1);

/// The error of components in Go for a port in use.
const PORT_IN_USE: &str = "address already in use";

/// Starts a component on a free port of 127.0.0.1 and waits until `path` returns 200.
pub(crate) fn start_on_free_port(
    run: &mut ManagedRun,
    path: &str,
    mut start: impl FnMut(&mut ManagedRun, SocketAddr) -> Result<Component>,
) -> Result<SocketAddr> {
    let mut last = None;
    for _ in 0..MAX_ATTEMPTS {
        let address = free_address()?;
        let component = start(run, address)?;
        match until_ready(&component, address, path) {
            Ok(()) => return Ok(address),
            Err(error) if format!("{error:#}").contains(PORT_IN_USE) => last = Some(error),
            Err(error) => return Err(error),
        }
        run.forget(&component);
    }
    Err(last.context("no attempt")?)
}

fn until_ready(component: &Component, address: SocketAddr, path: &str) -> Result<()> {
    let what = format!("{} to be ready (http://{address}{path})", component.name);
    wait::until_logged(&what, START_TIMEOUT, &component.log, || {
        component.ensure_alive()?;
        // An error means that the component does not listen yet.
        let response = http::get(address, path).ok();
        Ok(response.filter(|response| response.status == 200).map(drop))
    })
}

fn free_address() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port")?;
    Ok(listener.local_addr()?)
}
