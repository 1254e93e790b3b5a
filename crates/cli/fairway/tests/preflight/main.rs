//! Preflights of real releases on a platform, with real pods and the real binary.
//!
//! Tests here need a platform. Other properties of preflights are tested where they are implemented:
//!
//! | property | test |
//! | --- | --- |
//! | findings for an update, corrected findings, accepted risks | [`findings`] |
//! | findings for several releases, skip-level updates, unsupported releases | [`targets`] |
//! | preflight during an update, preflight of a rollback | [`update`] |
//! | many requests in a row | [`repeated_requests`] |
//! | results after the operator moved to another node | [`node_change`] |
//! | read-only access, refused checks | [`audit`], [`unsafe_checks`] |
//! | hostile target release | [`hostile`] |
//! | troubleshooting commands of the documentation | [`commands`] |
//! | checks of example operators | `fairway-example`: `tests/example/checks.rs` |
//! | checks that crash, hang or write invalid results | `fairway-preflight`: `tests/preflight` |
//! | required preflights, results that permit a skip-level update | `fairway-operator`: `tests/chain/target/preflight.rs` |
//! | client options: `--dry-run`, reports, updates after a clean preflight | `tests/cli/upgrade/preflight.rs` |
//! | `fairway preflight --once`, without an operator | `tests/cli/preflight.rs` |

mod audit;
mod commands;
mod findings;
mod hostile;
mod node_change;
mod repeated_requests;
mod support;
mod targets;
mod unsafe_checks;
mod update;
