//! The operators of the example platform, on whatever cluster there is.

mod in_a_pod;
mod support;
