//! For authors of components: write a check, and a release runs it before a cluster is updated.
