//! For authors of checks: run one against a cluster made of fixtures.
//!
//! The cluster is a Kubernetes API in this process. A test says what is in it, which release looks
//! at it, and what goes wrong; then it reads what the check says. It takes a few milliseconds.
//!
//! ```
//! # use fairway_check::{CannotTell, Check, Context, Finding};
//! # struct Network;
//! # impl Check for Network {
//! #     fn name(&self) -> &str { "network" }
//! #     async fn run(&self, _: &Context) -> Result<Vec<Finding>, CannotTell> { Ok(Vec::new()) }
//! # }
//! # #[tokio::main]
//! # async fn main() -> anyhow::Result<()> {
//! use fairway_check_testing::Fixture;
//!
//! let said = Fixture::from("5.0.0").to("5.2.0")
//!     .objects("{apiVersion: v1, kind: Namespace, metadata: {name: openshift-network}}")
//!     .run(Network)
//!     .await?;
//! assert_eq!(said.names(), [""; 0]);
//! # Ok(())
//! # }
//! ```

mod fixture;
mod objects;
mod said;

pub use fairway_sandbox::faults::Fault;
pub use fixture::Fixture;
pub use said::Said;
