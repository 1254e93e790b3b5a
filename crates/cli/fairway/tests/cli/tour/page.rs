//! What is on the page: prose, commands, and what is waited for between them.

/// A page whose commands are run.
pub(super) struct Page<'a>(pub(super) &'a str);

/// A line of it. What commands said the last time is none.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// For people.
    Prose(&'a str),
    /// A comment that people do not see: `<!-- until 5.0.1 is complete -->`.
    Wait { text: &'a str, until: &'a str },
    /// What is typed in a block of a console.
    Command(&'a str),
}

impl Page<'_> {
    /// Its lines, from the first to the last.
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
fn prose_commands_and_waits_are_told_apart() {
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
