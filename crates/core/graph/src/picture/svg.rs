//! A picture for browsers.
//!
//! Every minor version is a lane, and time goes to the right. Circles are releases that everybody
//! can get to, diamonds those that only some can, crosses those that nobody can; a ring is around
//! those with conditional updates only. Names of risks appear where the pointer rests.

use std::fmt;

use fairway_api::Version;

use super::layout::Layout;
use super::style::{self, Standing, standings};
use super::{Summary, essential};
use crate::graph::{Edge, Graph, NodeId};

/// Between two columns: a patch number beneath a release fits.
const COLUMN: usize = 24;

/// Between two lanes: arcs above a release and the name beneath it fit.
const LANE: usize = 130;

/// On the left, for the names of lanes.
const LEFT: usize = 90;

/// Above the first lane, for the title and for arcs.
const TOP: usize = 120;

/// Beneath the last lane, for names and the legend.
const BOTTOM: usize = 120;

/// The radius of a release.
const RADIUS: usize = 6;

/// Arcs rise with their length, and stay below the next lane.
const HIGHEST_ARC: usize = 60;

/// Letters beneath a release: more would reach the next lane.
const MAX_LABEL: usize = 10;

/// The width of a letter, more or less.
const LETTER: usize = 6;

/// The legend needs it.
const MIN_WIDTH: usize = 1000;

/// Draws a graph as SVG.
pub fn svg(graph: &Graph, title: &str) -> String {
    let layout = Layout::new(graph);
    let width = (LEFT + (layout.columns + 1) * COLUMN).max(MIN_WIDTH);
    let height = lane_y(layout.lanes.len().saturating_sub(1)) + BOTTOM;
    let mut drawing = Drawing { graph, layout, out: String::new() };
    drawing.add(format_args!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\">"
    ));
    drawing.add(format_args!("<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>"));
    drawing.heading(title);
    drawing.lanes(width);
    for edge in essential(graph) {
        drawing.edge(edge);
    }
    for ((id, _), standing) in graph.node_ids().zip(standings(graph)) {
        drawing.release(id, standing);
    }
    drawing.legend(height - 44);
    drawing.add(format_args!("</svg>"));
    drawing.out
}

struct Drawing<'a> {
    graph: &'a Graph,
    layout: Layout,
    out: String,
}

impl Drawing<'_> {
    fn add(&mut self, element: fmt::Arguments<'_>) {
        // Writing to memory cannot fail.
        let _ = fmt::Write::write_fmt(&mut self.out, element);
        self.out.push('\n');
    }

    fn heading(&mut self, title: &str) {
        let (title, summary) = (escaped(title), Summary::of(self.graph));
        self.add(format_args!("<text x=\"20\" y=\"32\" font-size=\"20\">{title}</text>"));
        self.add(format_args!("<text x=\"20\" y=\"54\" fill=\"#555\">{summary}</text>"));
    }

    fn lanes(&mut self, width: usize) {
        for number in 0..self.layout.lanes.len() {
            let (y, name) = (lane_y(number), escaped(&self.layout.lanes[number].name));
            self.add(format_args!(
                "<path d=\"M{} {y}H{width}\" stroke=\"#e4e4e4\" stroke-width=\"14\"/>",
                LEFT - COLUMN
            ));
            self.add(format_args!(
                "<text x=\"20\" y=\"{}\" font-size=\"16\" font-weight=\"bold\">{name}</text>",
                y + 5
            ));
        }
    }

    fn edge(&mut self, edge: Edge) {
        let risks: Vec<&str> = self.graph.risks(edge).map(|risk| risk.name.as_str()).collect();
        let (from, to) = (self.graph.node(edge.from), self.graph.node(edge.to));
        let hint = escaped(&format!("{} to {} {}", from.version, to.version, risks.join(", ")));
        let look = if risks.is_empty() {
            format!("stroke=\"{}\"", style::RECOMMENDED)
        } else {
            format!("stroke=\"{}\" stroke-dasharray=\"5 3\"", style::CONDITIONAL)
        };
        let path = self.path(edge);
        self.add(format_args!(
            "<path d=\"{path}\" fill=\"none\" {look} stroke-width=\"1.2\" opacity=\"0.75\">\
             <title>{}</title></path>",
            hint.trim_end()
        ));
    }

    /// Straight to the next release of a lane, in an arc over others, and in a curve to another
    /// lane.
    fn path(&self, edge: Edge) -> String {
        let ((from_lane, from), (to_lane, to)) =
            (self.layout.place(edge.from), self.layout.place(edge.to));
        let (x1, y1, x2, y2) = (column_x(from), lane_y(from_lane), column_x(to), lane_y(to_lane));
        if from_lane != to_lane {
            let middle = y1.midpoint(y2);
            return format!("M{x1} {y1}C{x1} {middle} {x2} {middle} {x2} {y2}");
        }
        let neighbours =
            self.layout.lanes[from_lane].nodes.windows(2).any(|pair| pair == [edge.from, edge.to]);
        if neighbours {
            return format!("M{x1} {y1}H{x2}");
        }
        let height = (12 + 3 * from.abs_diff(to)).min(HIGHEST_ARC);
        format!("M{x1} {y1}Q{} {} {x2} {y2}", x1.midpoint(x2), y1 - height)
    }

    fn release(&mut self, id: NodeId, standing: Standing) {
        let (lane, column) = self.layout.place(id);
        let (x, y) = (column_x(column), lane_y(lane));
        let version = &self.graph.node(id).version;
        let hint = escaped(&version.to_string());
        let name = label(version);
        if style::is_stranded(self.graph, id) {
            let radius = RADIUS + 4;
            self.add(format_args!(
                "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>",
                style::CONDITIONAL
            ));
        }
        let shape = shape(x, y, standing);
        self.add(format_args!("<g>{shape}<title>{hint}</title></g>"));
        let (x, y) = (x - 3, y + RADIUS + 14);
        self.add(format_args!("<text transform=\"translate({x} {y})rotate(45)\" paint-order=\"stroke\" stroke=\"white\" stroke-width=\"3\">{name}</text>"));
    }

    fn legend(&mut self, y: usize) {
        let release = |standing| shape(0, 0, standing);
        let ring = format!(
            "<circle r=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>{}",
            RADIUS + 4,
            style::CONDITIONAL,
            shape(0, 0, Standing::Open)
        );
        let line = |colour, dashes| {
            format!(
                "<path d=\"M-12 0H12\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\"/>"
            )
        };
        let rows = [
            vec![
                (release(Standing::Open), "reached by a recommended update"),
                (release(Standing::Conditional), "reached by conditional updates only"),
                (release(Standing::Closed), "not reached by any update"),
                (ring, "left by conditional updates only"),
            ],
            vec![
                (line(style::RECOMMENDED, "none"), "recommended"),
                (line(style::CONDITIONAL, "5 3"), "conditional"),
                (String::new(), "Updates implied by other paths are omitted."),
            ],
        ];
        for (row, y) in rows.into_iter().zip([y, y + 24]) {
            let mut x = 34;
            for (picture, words) in row {
                self.add(format_args!(
                    "<g transform=\"translate({x} {y})\">{picture}<text x=\"20\" y=\"4\">{words}</text></g>"
                ));
                x += 60 + LETTER * words.len();
            }
        }
    }
}

/// What stands beneath a release: what its lane does not say, as far as there is room.
fn label(version: &Version) -> String {
    let whole = match version.pre_release() {
        "" => version.patch().to_string(),
        pre => format!("{}-{pre}", version.patch()),
    };
    if whole.len() <= MAX_LABEL {
        return whole;
    }
    whole.chars().take(MAX_LABEL - 1).chain(['…']).collect()
}

fn shape(x: usize, y: usize, standing: Standing) -> String {
    match standing {
        Standing::Open => {
            format!(
                "<circle cx=\"{x}\" cy=\"{y}\" r=\"{RADIUS}\" fill=\"{}\"/>",
                style::RECOMMENDED
            )
        }
        Standing::Conditional => {
            let side = RADIUS + 2;
            format!(
                "<path transform=\"translate({x} {y})\" d=\"M-{side} 0L0 -{side}L{side} 0L0 {side}Z\" fill=\"{}\"/>",
                style::CONDITIONAL
            )
        }
        Standing::Closed => {
            let half = RADIUS - 1;
            format!(
                "<path transform=\"translate({x} {y})\" d=\"M-{half} -{half}L{half} {half}M-{half} {half}L{half} -{half}\" \
                 stroke=\"{}\" stroke-width=\"2.5\"/>",
                style::CLOSED
            )
        }
    }
}

fn column_x(column: usize) -> usize {
    LEFT + column * COLUMN
}

fn lane_y(lane: usize) -> usize {
    TOP + lane * LANE
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;")
}
