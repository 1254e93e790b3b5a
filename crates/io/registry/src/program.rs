//! What a program of this machine needs to run elsewhere.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Why it cannot be told what a program needs.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The dynamic linker could not be asked.
    #[error("cannot run ldd to find shared libraries")]
    Ldd(#[source] io::Error),
    /// The dynamic linker cannot load it.
    #[error("ldd cannot find the shared libraries of {}: {said}", program.display())]
    Unknown {
        /// The program.
        program: PathBuf,
        /// What ldd said.
        said: String,
    },
}

/// The shared libraries that the dynamic linker loads for a program, and the linker itself; none
/// for a static one. Only for programs that may be run: the linker is asked to load them.
pub fn libraries(program: &Path) -> Result<BTreeSet<PathBuf>, ProgramError> {
    let output = Command::new("ldd").arg(program).output().map_err(ProgramError::Ldd)?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() {
        Ok(paths_in(&String::from_utf8_lossy(&output.stdout)))
    } else if said.contains("not a dynamic executable") {
        Ok(BTreeSet::new())
    } else {
        Err(ProgramError::Unknown { program: program.to_owned(), said })
    }
}

/// Lines are `name => /path (address)`, or `/path (address)` for the linker, or have no path.
fn paths_in(listing: &str) -> BTreeSet<PathBuf> {
    let path =
        |line: &str| line.split_whitespace().find(|word| word.starts_with('/')).map(PathBuf::from);
    listing.lines().filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_read_off_the_listing() {
        let listing = "\tlinux-vdso.so.1 (0x00007fff)\n\
                       \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)\n\
                       \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let expected = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"];
        assert_eq!(paths_in(listing), expected.map(PathBuf::from).into());
    }

    #[test]
    fn what_is_no_program_needs_nothing_and_what_is_not_there_is_named() {
        assert!(libraries(Path::new("/etc/passwd")).unwrap().is_empty());
        let error = libraries(Path::new("/does/not/exist")).unwrap_err().to_string();
        assert!(
            error.starts_with("ldd cannot find the shared libraries of /does/not/exist"),
            "{error}"
        );
    }
}
