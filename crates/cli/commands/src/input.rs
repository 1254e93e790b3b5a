//! Files of arguments, with a size limit; a hyphen is standard input.

use std::fs::File;
use std::io;
use std::path::Path;

use fairway_api::read;

/// The path of standard input.
const STDIN: &str = "-";

/// Whether a path is standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new(STDIN)
}

/// The name of a path in messages.
pub(crate) fn name(path: &Path) -> String {
    if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// The content of a file or of standard input.
pub(crate) fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let name = name(path);
    if is_stdin(path) {
        read::bytes(&name, io::stdin().lock())
    } else {
        read::bytes(&name, File::open(path)?)
    }
}
