//! Shared libraries of binaries of this host.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Shared libraries that cannot be determined.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant explains its fields")]
pub enum ProgramError {
    /// `ldd` cannot be started.
    #[error("cannot run ldd to find shared libraries")]
    Ldd(#[source] io::Error),
    /// `ldd` fails for the binary.
    #[error("ldd cannot find the shared libraries of {}: {output}", program.display())]
    Unknown { program: PathBuf, output: String },
}

/// The shared libraries that the dynamic linker loads for a binary, and the linker itself; none for
/// a static binary. Use it only for trusted binaries: `ldd` may execute them.
pub fn libraries(program: &Path) -> Result<BTreeSet<PathBuf>, ProgramError> {
    let output = Command::new("ldd").arg(program).output().map_err(ProgramError::Ldd)?;
    let errors = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() {
        Ok(paths_in(&String::from_utf8_lossy(&output.stdout)))
    } else if errors.contains("not a dynamic executable") {
        Ok(BTreeSet::new())
    } else {
        Err(ProgramError::Unknown { program: program.to_owned(), output: errors })
    }
}

/// Parses the output of `ldd`. Lines are `name => /path (address)`, `/path (address)` for the
/// linker, or have no path.
fn paths_in(listing: &str) -> BTreeSet<PathBuf> {
    let path =
        |line: &str| line.split_whitespace().find(|word| word.starts_with('/')).map(PathBuf::from);
    listing.lines().filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_ldd_output_returns_libraries() {
        let listing = "\tlinux-vdso.so.1 (0x00007fff)\n\
                       \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)\n\
                       \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let expected = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"];
        assert_eq!(paths_in(listing), expected.map(PathBuf::from).into());
    }

    #[test]
    fn libraries_of_text_file_is_empty_and_of_missing_file_fails() {
        assert!(libraries(Path::new("/etc/passwd")).unwrap().is_empty());
        let error = libraries(Path::new("/does/not/exist")).unwrap_err().to_string();
        assert!(
            error.starts_with("ldd cannot find the shared libraries of /does/not/exist"),
            "{error}"
        );
    }
}
