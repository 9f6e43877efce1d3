//! Text plots: curves drawn with characters over an axis of values.

use super::fmt::digits::plotted;
use super::text::{columns, cut, left, right};

const MARKS: [char; 8] = ['*', 'o', '+', 'x', '#', '@', '%', '&'];
/// Ratio of the highest to the lowest value above which the axis is logarithmic.
const LOGARITHMIC: f64 = 30.0;

pub(super) struct ValueAxis {
    low: f64,
    high: f64,
    is_logarithmic: bool,
    widest: usize,
}

/// A name and a curve: the value at a horizontal position from 0 to 1, given half the width of a column.
type Curve<'a> = (String, Box<dyn Fn(f64, f64) -> Option<f64> + 'a>);

pub(super) struct Plot<'a> {
    pub values: ValueAxis,
    pub curves: Vec<Curve<'a>>,
    /// Labels of the horizontal axis with their positions, in ascending order from 0 to 1.
    pub ticks: Vec<(f64, String)>,
    pub unit: &'a str,
    pub height: usize,
}

/// Whether the positive values span a large ratio and no value is negative. Zeros are drawn at the lower end.
pub(super) fn is_logarithmic(values: impl Iterator<Item = f64>) -> bool {
    let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
    for value in values {
        if value < 0.0 {
            return false;
        }
        high = high.max(value);
        low = if value > 0.0 { low.min(value) } else { low };
    }
    high / low > LOGARITHMIC
}

impl ValueAxis {
    /// The axis of these values; `None` if none is positive or one is not finite.
    pub(super) fn over(values: &[f64]) -> Option<ValueAxis> {
        let all = || values.iter().copied();
        let high = all().fold(f64::NEG_INFINITY, f64::max);
        if !high.is_finite() || high <= 0.0 {
            return None;
        }
        let is_logarithmic = is_logarithmic(all());
        let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
        let low = match is_logarithmic {
            true => least(&mut all().filter(|value| *value > 0.0)),
            false => least(&mut all()).min(0.0),
        };
        let widest = all().map(|value| columns(&plotted(value))).max().unwrap_or(1).min(12);
        Some(ValueAxis { low, high, is_logarithmic, widest })
    }

    fn position(&self, value: f64) -> f64 {
        let part = match self.is_logarithmic {
            true => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        };
        if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 }
    }

    fn value(&self, position: f64) -> f64 {
        match self.is_logarithmic {
            true => self.low * (self.high / self.low).powf(position),
            false => self.low + (self.high - self.low) * position,
        }
    }
}

impl Plot<'_> {
    pub(super) fn lines(&self, width: usize) -> Vec<String> {
        let gutter = 2 + self.values.widest;
        let plot_width = width.saturating_sub(gutter + 4).clamp(20, 120);
        let last_line = self.height - 1;
        let line_of = |value: f64| ((1.0 - self.values.position(value)) * last_line as f64).round() as usize;
        let mut canvas = vec![vec![' '; plot_width]; self.height];
        for (index, (_, value_at)) in self.curves.iter().enumerate() {
            let mark = MARKS[index % MARKS.len()];
            let mut last: Option<usize> = None;
            for column in 0..plot_width {
                let step = 1.0 / (plot_width - 1) as f64;
                let Some(value) = value_at(column as f64 * step, step / 2.0) else {
                    last = None;
                    continue;
                };
                let line = line_of(value);
                // Steps are drawn in full, so that the curve is connected.
                let (from, to) = last.map_or((line, line), |last| (last.min(line), last.max(line)));
                for (row, cells) in canvas.iter_mut().enumerate().take(to + 1).skip(from) {
                    if row == line || cells[column] == ' ' {
                        cells[column] = mark;
                    }
                }
                last = Some(line);
            }
        }
        let mut lines: Vec<String> = canvas
            .iter()
            .enumerate()
            .map(|(line, cells)| {
                let tick = line % 5 == 0 || line == last_line;
                let value = self.values.value(1.0 - line as f64 / last_line as f64);
                let text = if tick { plotted(value) } else { String::new() };
                let edge = if tick { '┤' } else { '│' };
                let drawn: String = cells.iter().collect();
                format!("{} {edge}{}", right(&text, gutter - 1), drawn.trim_end())
            })
            .collect();
        lines.extend(self.axis(plot_width, gutter));
        if self.curves.len() > 1 {
            lines.push(String::new());
            let names = self.curves.iter().zip(MARKS.into_iter().cycle());
            lines.extend(names.map(|((name, _), mark)| cut(&format!(" {mark} {name}"), width)));
        }
        lines
    }

    fn axis(&self, plot_width: usize, gutter: usize) -> Vec<String> {
        let (mut ticks, mut names) = (vec!['─'; plot_width], String::new());
        for (index, (position, name)) in self.ticks.iter().enumerate() {
            let column = (position * (plot_width - 1) as f64).round() as usize;
            ticks[column] = '┴';
            let start =
                column.saturating_sub(columns(name) / 2).min(plot_width.saturating_sub(columns(name)));
            if start >= columns(&names) + usize::from(index > 0) {
                names = left(&names, start) + name;
            }
        }
        let pad = " ".repeat(gutter);
        vec![
            format!("{pad}└{}", ticks.into_iter().collect::<String>()),
            format!("{pad} {names} {}", self.unit),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithmic_axes_accept_zeros_but_no_negative_values() {
        assert!(is_logarithmic([0.0, 1.0, 100.0].into_iter()));
        assert!(!is_logarithmic([1.0, 20.0].into_iter()));
        assert!(!is_logarithmic([-1.0, 1.0, 100.0].into_iter()));
        assert!(!is_logarithmic([0.0].into_iter()) && !is_logarithmic(std::iter::empty()));
    }
}
