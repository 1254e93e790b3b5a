//! Where a pod finds what is mounted into it.

use std::path::{Path, PathBuf};

/// Where something is that a pod has at this path. A sandbox without namespaces cannot mount it
/// there, and says in the environment where it is instead.
pub(crate) fn at(path: &Path) -> PathBuf {
    std::env::var_os(variable(path)).map_or_else(|| path.to_owned(), PathBuf::from)
}

fn variable(path: &Path) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let path = path.to_string_lossy();
    format!("FAIRWAY_MOUNT_{}", path.trim_matches('/').chars().map(letter).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_asked_for_by_the_name_that_a_sandbox_gives_it() {
        let path = Path::new("/var/lib/fairway/preflight");
        assert_eq!(variable(path), "FAIRWAY_MOUNT_VAR_LIB_FAIRWAY_PREFLIGHT");
        assert_eq!(at(path), path);
        #[cfg(feature = "sandbox")]
        assert_eq!(variable(path), fairway_sandbox::init::plain::mount_variable(path));
    }
}
