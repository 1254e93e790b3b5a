//! Test kit for authors of checks: runs a check against a test cluster.
//!
//! A [`Fixture`] is a Kubernetes API in the same process. A test defines its objects, the target
//! release and [`Fault`]s of the API server, runs the check, and inspects the [`TestResult`]. It
//! takes a few milliseconds.
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
//! let result = Fixture::from("5.0.0").to("5.2.0")
//!     .objects("{apiVersion: v1, kind: Namespace, metadata: {name: openshift-network}}")
//!     .run(Network)
//!     .await?;
//! assert_eq!(result.names(), [""; 0]);
//! # Ok(())
//! # }
//! ```

mod fixture;
mod objects;
mod test_result;

pub use fairway_sandbox::faults::Fault;
pub use fixture::Fixture;
pub use test_result::TestResult;
