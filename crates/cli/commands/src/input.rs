//! Files that somebody named, within limits; a hyphen is standard input.

use std::fs::File;
use std::io;
use std::path::Path;

use fairway_api::read;

/// What stands for standard input.
const STDIN: &str = "-";

/// Whether a path stands for standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new(STDIN)
}

/// What a path is called in messages.
pub(crate) fn name(path: &Path) -> String {
    if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// What is in a file, or comes from standard input.
pub(crate) fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let name = name(path);
    if is_stdin(path) {
        read::bytes(&name, io::stdin().lock())
    } else {
        read::bytes(&name, File::open(path)?)
    }
}
