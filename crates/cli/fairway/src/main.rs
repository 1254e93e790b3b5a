//! The `fairway` binary: safe updates for Kubernetes platforms.
//!
//! `main` installs the TLS provider and calls [`fairway_cli::run`]. With the feature `sandbox`, the
//! binary is also the first process of the sandbox's containers (`fairway_sandbox::init`). The
//! feature `jemalloc` replaces the allocator.

use std::process::ExitCode;

/// glibc keeps most of the memory that an installation needs for a moment; jemalloc returns it. Its
/// settings are in `.cargo/config.toml`.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    #[cfg(feature = "sandbox")]
    if std::env::args_os()
        .nth(1)
        .is_some_and(|argument| argument == fairway_sandbox::init::ARGUMENT)
    {
        // Before anything else: only a process of one thread can be a container's first one.
        return fairway_sandbox::init::main(std::env::args_os().skip(2));
    }
    // The only TLS provider of the process: no other code installs one before this line.
    let _ = rustls::crypto::ring::default_provider().install_default();
    fairway_cli::run(std::env::args_os())
}
