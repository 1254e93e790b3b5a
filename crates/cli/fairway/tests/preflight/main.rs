//! A release is asked about a platform before the platform is updated to it: real releases, real
//! pods, the real program.
//!
//! Whose wishes are tried where; what is not here needs no platform, and is tried beside the code that
//! it is about.
//!
//! | somebody wants | tried in |
//! | --- | --- |
//! | to know what stands against an update, and against one that skips a release | [`story`], [`targets`] |
//! | to prepare calmly: to be told, to mend it, to be told that it is mended | [`story`] |
//! | to take a risk by its name | [`story`] |
//! | to compare several releases; what one says stays while another is asked | [`targets`] |
//! | to be told that a release is too old, or too far ahead, and what to do | [`targets`] |
//! | to know whether there is a way back | [`update`] |
//! | to ask about the release after next while an update is under way, which goes on | [`update`] |
//! | to change their mind, again and again | [`retargets`] |
//! | results also when the operator moves | [`moving`] |
//! | to be sure that nothing is changed, whatever a check tries or asks for | [`audit`], [`greedy`] |
//! | to find out what is wrong, and to end it by hand | [`commands`] |
//! | a check in the release in which something changes: permissions, certificates, Ignition v2, kernels, dual-stack, drivers | `fairway-example`: `tests/example/checks.rs` |
//! | checks that crash, hang, talk rubbish or too much, and others that go on | `fairway-preflight`: `tests/preflight` |
//! | an answer before each update, recorded or required; to skip a release once it has found nothing | `fairway-operator`: `tests/chain/target/preflight.rs` |
//! | an update only after a clean preflight, a report for every night, reports for programs | `tests/cli/upgrade/preflight.rs` |
//! | to ask without any request that stays: `--dry-run`; to hear that it runs already | `tests/cli/upgrade/preflight.rs` |
//! | to ask without any operator: `fairway preflight --once` | `tests/cli/preflight.rs` |

mod audit;
mod commands;
mod greedy;
mod ground;
mod moving;
mod retargets;
mod story;
mod targets;
mod update;
