//! What is kept, for how long, and what it means.
