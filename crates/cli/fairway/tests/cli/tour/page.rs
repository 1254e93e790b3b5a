//! The parts of a page: prose, commands and wait conditions.

/// A page with commands.
pub(super) struct Page<'a>(pub(super) &'a str);

/// A line of a page, without the recorded output.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// Prose.
    Prose(&'a str),
    /// A comment with a wait condition: `<!-- until 5.0.1 is complete -->`.
    Wait { text: &'a str, until: &'a str },
    /// A command in a console block.
    Command(&'a str),
}

impl Page<'_> {
    /// The lines in order.
    pub(super) fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let mut in_console = false;
        self.0.lines().filter_map(move |text| match text {
            "```console" => {
                in_console = true;
                Some(Line::Prose(text))
            }
            "```" => {
                in_console = false;
                Some(Line::Prose(text))
            }
            _ if in_console => text.strip_prefix("$ ").map(Line::Command),
            _ => {
                let until = text.strip_prefix("<!-- until ");
                let until = until.and_then(|rest| rest.strip_suffix(" -->"));
                Some(until.map_or(Line::Prose(text), |until| Line::Wait { text, until }))
            }
        })
    }
}

#[test]
fn lines_distinguish_prose_commands_and_waits() {
    let page = Page("Look:\n```console\n$ fairway -V\nfairway 0.0.0\n```\n<!-- until it is -->\n");
    let lines: Vec<Line<'_>> = page.lines().collect();
    let expected = [
        Line::Prose("Look:"),
        Line::Prose("```console"),
        Line::Command("fairway -V"),
        Line::Prose("```"),
        Line::Wait { text: "<!-- until it is -->", until: "it is" },
    ];
    assert_eq!(lines, expected);
}
