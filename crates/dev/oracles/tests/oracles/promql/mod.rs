//! `fairway-promql` compared with Prometheus: the same samples and the same queries.

mod clusters;
mod generate;
mod generated;
mod language;
mod oracle;
mod queries;
mod result;
mod stale;
