//! For authors of checks: run one against a cluster made of fixtures.
