//! A release looks at a cluster, as it does in its pod.

mod document;
mod monitor;
mod operator;
mod own_hands;
