//! The webhook that keeps operators from being installed where they do not run.

mod configuration;
mod review;

pub(crate) use configuration::{
    CONFIGURATION, PATH, bundle, configuration, names, stay_where_certified,
};
pub(crate) use review::{answer, predecessor};
