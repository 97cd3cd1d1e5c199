//! Charts: SVG for files and pages, braille for terminals.

use kuva::prelude::{
    Figure, Layout, LinePlot, Plot, ScatterPlot, SvgBackend, TerminalBackend, Theme,
    render_multiple,
};

/// Colours of curves, which also readers without colour vision can tell apart.
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
/// Colour of the mark for the best point.
const BEST: &str = "#d55e00";
/// Ratio of the largest to the smallest value from which an axis is logarithmic.
const LOG_RATIO: f64 = 50.0;

/// Points of a chart.
pub(crate) enum Marks {
    /// Separate points, of which one may be the best.
    Points { all: Vec<(f64, f64)>, best: Option<(f64, f64)> },
    /// Curves with their names.
    Curves(Vec<Curve>),
}

/// A curve with its name. Its parts have gaps between them.
#[derive(Debug, PartialEq)]
pub(crate) struct Curve {
    pub(crate) name: String,
    pub(crate) parts: Vec<Vec<(f64, f64)>>,
}

/// A chart with labels of its axes.
pub(crate) struct Chart {
    pub(crate) x: String,
    pub(crate) y: String,
    pub(crate) marks: Marks,
}

impl Chart {
    fn plots(&self) -> (Vec<Plot>, Layout) {
        let plots: Vec<Plot> = match &self.marks {
            Marks::Points { all, best } => {
                let all = ScatterPlot::new().with_data(all.clone()).with_color(COLOURS[0]);
                let best = best.map(|best| ScatterPlot::new().with_data([best]).with_color(BEST));
                [Some(all), best].into_iter().flatten().map(Plot::from).collect()
            }
            Marks::Curves(curves) => {
                let colours = COLOURS.iter().cycle();
                let curves =
                    curves.iter().zip(colours).flat_map(|(Curve { name, parts }, colour)| {
                        parts.iter().enumerate().map(move |(number, part)| {
                            let line = LinePlot::new().with_data(part.clone()).with_color(*colour);
                            // A line of one point would not be visible.
                            let point =
                                ScatterPlot::new().with_data(part.clone()).with_color(*colour);
                            match (part.len(), number) {
                                (1, 0) => Plot::from(point.with_legend(name.as_str())),
                                (1, _) => Plot::from(point),
                                (_, 0) => Plot::from(line.with_legend(name.as_str())),
                                _ => Plot::from(line),
                            }
                        })
                    });
                curves.collect()
            }
        };
        let layout = Layout::auto_from_plots(&plots);
        let layout = layout.with_x_label(self.x.as_str()).with_y_label(self.y.as_str());
        match self.is_logarithmic() {
            true => (plots, layout.with_log_x()),
            false => (plots, layout),
        }
    }

    /// Returns `true` if the points are spread over magnitudes, such as those of a learning rate.
    fn is_logarithmic(&self) -> bool {
        let Marks::Points { all, .. } = &self.marks else {
            return false;
        };
        let (low, high) = all
            .iter()
            .fold((f64::INFINITY, 0.0_f64), |(low, high), (x, _)| (low.min(*x), high.max(*x)));
        low > 0.0 && high / low >= LOG_RATIO
    }

    /// Returns the chart as lines of braille for a terminal.
    pub(crate) fn text(&self, columns: usize, rows: usize) -> String {
        let (plots, layout) = self.plots();
        // Grey is readable on light and on dark terminals.
        let grey = || "#888888".to_owned();
        let theme = Theme { text_color: grey(), axis_color: grey(), ..Theme::dark() };
        let layout = layout.with_theme(theme).with_show_grid(false).with_legend_box(false);
        let layout = layout.with_term_rows(u32::try_from(rows).unwrap_or(u32::MAX));
        TerminalBackend::new(columns, rows).render_scene(&render_multiple(plots, layout))
    }
}

/// Returns charts below each other as SVG.
pub(crate) fn svg(charts: &[Chart]) -> String {
    SvgBackend::new().render_scene(&figure(charts).render())
}

fn figure(charts: &[Chart]) -> Figure {
    let (plots, layouts) = charts.iter().map(Chart::plots).unzip();
    Figure::new(charts.len(), 1).with_plots(plots).with_layouts(layouts)
}
