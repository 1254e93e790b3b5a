//! Paths of mounts in a pod.

use std::path::{Path, PathBuf};

/// The path of a mount. A sandbox without mount namespaces cannot mount it there, and sets its path in an
/// environment variable.
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
    fn variable_has_the_name_of_the_sandbox() {
        let path = Path::new("/var/lib/fairway/preflight");
        assert_eq!(variable(path), "FAIRWAY_MOUNT_VAR_LIB_FAIRWAY_PREFLIGHT");
        assert_eq!(at(path), path);
        #[cfg(feature = "sandbox")]
        assert_eq!(variable(path), fairway_sandbox::init::plain::mount_variable(path));
    }
}
