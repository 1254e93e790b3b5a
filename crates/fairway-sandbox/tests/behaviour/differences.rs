//! Where the real cluster of the tests is too old to behave as the sandbox does.
