//! What releases and images call architectures.

/// The name of a machine's architecture, which Rust calls by another one.
pub fn of_machine(machine: &str) -> &str {
    match machine {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "powerpc64" => "ppc64le",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_called_as_in_images() {
        let names = ["x86_64", "aarch64", "powerpc64", "s390x"].map(of_machine);
        assert_eq!(names, ["amd64", "arm64", "ppc64le", "s390x"]);
    }
}
