//! The same samples and the same queries, given to a real Prometheus and to us.

mod answer;
mod clusters;
mod generate;
mod generated;
mod language;
mod oracle;
mod queries;
mod stale;
