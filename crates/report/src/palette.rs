//! Colours of heat maps: viridis on a logarithmic scale, or a few tones for terminals with few colours.

use super::ColorDepth;
use coretalk_model::latency::summary::value_steps;

/// Ten equidistant colours of viridis (Stéfan van der Walt and Nathaniel Smith, matplotlib 2015, CC0), perceptually
/// uniform. Lightness rises throughout, also in grey and for colour-blind readers. Linear interpolation stays within 3
/// of 255 of the full table.
pub const VIRIDIS: [[u8; 3]; 10] = [
    [0x44, 0x01, 0x54],
    [0x48, 0x28, 0x78],
    [0x3e, 0x4a, 0x89],
    [0x31, 0x68, 0x8e],
    [0x26, 0x82, 0x8e],
    [0x1f, 0x9e, 0x89],
    [0x35, 0xb7, 0x79],
    [0x6d, 0xcd, 0x59],
    [0xb4, 0xde, 0x2c],
    [0xfd, 0xe7, 0x25],
];

/// Blue, near-white and brown, for differences. Both ends are equally dark; colour-blind readers can distinguish them.
pub const DIVERGING: [[u8; 3]; 7] = [
    [0x0b, 0x4f, 0x8f],
    [0x4f, 0x94, 0xc8],
    [0xb5, 0xd3, 0xea],
    [0xf3, 0xf1, 0xee],
    [0xf1, 0xc9, 0x9f],
    [0xd6, 0x8a, 0x3f],
    [0x8f, 0x4a, 0x06],
];

/// The palette with sixteen colours: blue, bright blue, cyan, bright cyan, bright yellow. Lightness rises on every
/// common terminal, and red is never next to green.
const ANSI_COLORS: [u8; 5] = [4, 12, 6, 14, 11];

/// The palette without colours, by density. No glyph resembles `·`, which marks cells without a measurement.
pub const SHADES: [char; 5] = [':', '░', '▒', '▓', '█'];

/// A logarithmic scale from values to 0 … 1: equal ratios have equal distances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// The value at 0.
    pub low: f64,
    /// The value at 1.
    pub high: f64,
}

/// At most one in this many values is a low outlier. Low outliers share the first colour.
const FEW: usize = 4;

impl Scale {
    /// The scale of these values, at least a ratio of 1.5 so that noise has few colours; `None` without a positive
    /// value.
    pub fn over(values: impl Iterator<Item = f64>) -> Option<Scale> {
        let mut scale: Option<Scale> = None;
        for value in values.filter(|value| value.is_finite() && *value > 0.0) {
            let so_far = scale.unwrap_or(Scale { low: value, high: value });
            scale = Some(Scale { low: so_far.low.min(value), high: so_far.high.max(value) });
        }
        scale.map(|scale| Scale { high: scale.high.max(1.5 * scale.low), ..scale })
    }

    /// The same range on every machine; `None` for units other than ns and messages/s. In ns: from threads of one core
    /// to the farthest CPUs of a large machine. In messages/s: from a queue that switches threads at every message to a
    /// queue that never waits.
    pub fn fixed(unit: &str) -> Option<Scale> {
        match unit {
            "ns" => Some(Scale { low: 4.0, high: 500.0 }),
            "messages/s" => Some(Scale { low: 1e5, high: 1e8 }),
            _ => None,
        }
    }

    /// Like [`over`](Scale::over), but outliers share the colours at the ends. Values more than 20 times above or 50
    /// times below the middle value are clamped; no machine is known to span more. If few values (threads of a core)
    /// are more than a factor of two below the others, the scale starts at half of the others' minimum.
    pub fn fitted(values: impl Iterator<Item = f64>) -> Option<Scale> {
        let mut values: Vec<f64> = values.filter(|value| value.is_finite() && *value > 0.0).collect();
        values.sort_unstable_by(f64::total_cmp);
        let middle = *values.get(values.len() / 2)?;
        let below = values.windows(2).position(|pair| pair[1] > 2.0 * pair[0]).map(|at| at + 1);
        // A machine of n CPUs has n²/2 pairs, but only n/2 pairs of threads of the same core.
        let is_few = |below: &usize| below * FEW <= values.len() && below.pow(2) <= 2 * values.len();
        let below = below.filter(is_few);
        let least = below.map_or(0.0, |below| values[below] / 2.0);
        let least = least.max(middle / 50.0);
        Scale::over(values.into_iter().map(|value| value.clamp(least, middle * 20.0)))
    }

    /// The position of a value, 0 to 1.
    pub fn position(&self, value: f64) -> f64 {
        let position = (value / self.low).ln() / (self.high / self.low).ln();
        if position.is_finite() { position.clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// Maps values to colours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Colors {
    /// Viridis over the logarithm of values.
    Level(Scale),
    /// Blue to brown over differences, symmetric around zero.
    Difference {
        /// The largest difference with a colour of its own.
        most: f64,
    },
}

impl Colors {
    /// Colours of differences in percent. They are the same on every page, so that small differences look small.
    pub const DIFFERENCE: Colors = Colors::Difference { most: 20.0 };

    /// Colours for 99 % of these differences in percent, but at least for ±5 %, so that noise does not use all colours.
    pub fn of_differences(values: impl Iterator<Item = f64>) -> Colors {
        let mut sizes: Vec<f64> = values.map(f64::abs).filter(|size| size.is_finite()).collect();
        sizes.sort_unstable_by(f64::total_cmp);
        let usual = sizes.get((sizes.len() * 99 / 100).min(sizes.len().saturating_sub(1)));
        Colors::Difference { most: usual.map_or(20.0, |size| size.max(5.0)) }
    }

    /// The smallest and the largest value with a colour of its own.
    pub fn ends(self) -> [f64; 2] {
        match self {
            Colors::Level(scale) => [scale.low, scale.high],
            Colors::Difference { most } => [-most, most],
        }
    }

    /// The colour of a value.
    pub fn rgb(self, value: f64) -> [u8; 3] {
        match self {
            Colors::Level(scale) => rgb(scale.position(value)),
            Colors::Difference { most } => interpolated(&DIVERGING, 0.5 + value / most / 2.0),
        }
    }

    /// Whether black text is easier to read than white text on the colour of a value.
    pub fn wants_dark_text(self, value: f64) -> bool {
        luminance(self.rgb(value)) > EVEN_CONTRAST
    }
}

/// A few tones, for terminals with at most sixteen colours. Values separated by a gap get different tones.
#[derive(Debug, Clone, PartialEq)]
pub struct Steps(Vec<[f64; 2]>);

impl Steps {
    /// Steps of these values, at most as many as there are glyphs; `None` if no value is positive.
    pub fn over(values: impl Iterator<Item = f64>) -> Option<Steps> {
        let steps = value_steps(values, SHADES.len());
        (!steps.is_empty()).then_some(Steps(steps))
    }

    /// The smallest and the largest value of each step, ascending.
    pub fn ranges(&self) -> &[[f64; 2]] {
        &self.0
    }

    /// The tone of a value, 0 to 1: 0 for the first step and 1 for the last.
    pub fn position(&self, value: f64) -> f64 {
        let index = self.0.iter().rposition(|[low, _]| *low <= value).unwrap_or(0);
        index as f64 / (self.0.len() - 1).max(1) as f64
    }
}

/// The colour at a position, as red, green and blue.
pub fn rgb(position: f64) -> [u8; 3] {
    interpolated(&VIRIDIS, position)
}

fn interpolated(stops: &[[u8; 3]], position: f64) -> [u8; 3] {
    let at = position.clamp(0.0, 1.0) * (stops.len() - 1) as f64;
    let below = (at as usize).min(stops.len() - 2);
    let share = at - below as f64;
    std::array::from_fn(|channel| {
        let (from, to) = (f64::from(stops[below][channel]), f64::from(stops[below + 1][channel]));
        (from + share * (to - from)).round() as u8
    })
}

/// The glyph at a position.
pub fn shade(position: f64) -> char {
    SHADES[step(position, SHADES.len())]
}

/// Text on the colour of a position, in black or white, whichever is easier to read.
pub fn on(depth: ColorDepth, position: f64, text: &str) -> String {
    let ink = if is_light(depth, position) { 30 } else { 97 };
    match background(depth, position) {
        Some(paper) => format!("\x1b[{ink};{paper}m{text}\x1b[0m"),
        None => text.to_owned(),
    }
}

/// Two pixels of half height: `▀` in the upper colour on the lower one. `None` is the background of the terminal.
pub fn half_blocks(depth: ColorDepth, upper: Option<f64>, lower: Option<f64>) -> String {
    let ink = |position| foreground(depth, position).unwrap_or_default();
    match (upper, lower) {
        (Some(upper), Some(lower)) => {
            let paper = background(depth, lower).unwrap_or_default();
            format!("\x1b[{};{paper}m▀\x1b[0m", ink(upper))
        }
        (Some(upper), None) => format!("\x1b[{}m▀\x1b[0m", ink(upper)),
        (None, Some(lower)) => format!("\x1b[{}m▄\x1b[0m", ink(lower)),
        (None, None) => " ".to_owned(),
    }
}

fn background(depth: ColorDepth, position: f64) -> Option<String> {
    match depth {
        ColorDepth::None => None,
        ColorDepth::Ansi16 => Some(ansi_code(position, 40, 100)),
        ColorDepth::Ansi256 => Some(format!("48;5;{}", cube(rgb(position)))),
        ColorDepth::TrueColor => Some(format!("48;2;{}", channels(position))),
    }
}

fn foreground(depth: ColorDepth, position: f64) -> Option<String> {
    match depth {
        ColorDepth::None => None,
        ColorDepth::Ansi16 => Some(ansi_code(position, 30, 90)),
        ColorDepth::Ansi256 => Some(format!("38;5;{}", cube(rgb(position)))),
        ColorDepth::TrueColor => Some(format!("38;2;{}", channels(position))),
    }
}

fn channels(position: f64) -> String {
    let [red, green, blue] = rgb(position);
    format!("{red};{green};{blue}")
}

fn ansi_code(position: f64, dark: u8, bright: u8) -> String {
    let color = ANSI_COLORS[step(position, ANSI_COLORS.len())];
    if color < 8 { (dark + color).to_string() } else { (bright + color - 8).to_string() }
}

fn is_light(depth: ColorDepth, position: f64) -> bool {
    match depth {
        ColorDepth::Ansi16 => step(position, ANSI_COLORS.len()) >= 2,
        _ => luminance(rgb(position)) > EVEN_CONTRAST,
    }
}

/// Luminance at which black and white have the same contrast (WCAG 2.1).
const EVEN_CONTRAST: f64 = 0.18;

/// Relative luminance, 0 to 1, as in WCAG 2.1 but with a gamma of 2.2.
fn luminance(rgb: [u8; 3]) -> f64 {
    let [red, green, blue] = rgb.map(|channel| (f64::from(channel) / 255.0).powf(2.2));
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/// The nearest colour of the 6 × 6 × 6 cube of xterm, whose levels are 0, 95, 135, 175, 215, 255.
fn cube(rgb: [u8; 3]) -> u8 {
    let level = |channel: u8| match channel {
        0..48 => 0,
        48..115 => 1,
        _ => (channel - 35) / 40,
    };
    let [red, green, blue] = rgb.map(level);
    16 + 36 * red + 6 * green + blue
}

fn step(position: f64, steps: usize) -> usize {
    ((position * steps as f64) as usize).min(steps - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lightness_rises_along_the_palette_at_every_depth() {
        let steps: Vec<f64> = (0..=50).map(|step| f64::from(step) / 50.0).collect();
        assert!(steps.windows(2).all(|pair| luminance(rgb(pair[0])) < luminance(rgb(pair[1]))));
        for depth in [ColorDepth::Ansi16, ColorDepth::Ansi256, ColorDepth::TrueColor] {
            let light: Vec<bool> = steps.iter().map(|&position| is_light(depth, position)).collect();
            assert!(light.is_sorted() && !light[0] && light[50], "{depth:?}");
        }
    }

    #[test]
    fn equal_ratios_are_equally_spaced() {
        let scale = Scale::over([10.0, 1000.0].into_iter()).unwrap();
        assert!((scale.position(100.0) - 0.5).abs() < 1e-12);
        assert_eq!((scale.position(1.0), scale.position(1e9), scale.position(0.0)), (0.0, 1.0, 0.0));
    }

    #[test]
    fn noise_alone_does_not_get_all_the_colours() {
        let scale = Scale::over([20.0, 20.4].into_iter()).unwrap();
        assert!(scale.position(20.4) < 0.1);
        assert_eq!(Scale::over([f64::NAN, 0.0].into_iter()), None);
    }

    #[test]
    fn levels_that_an_even_scale_would_merge_get_different_tones() {
        let levels = [20.0, 60.0, 62.0, 120.0, 300.0];
        let steps = Steps::over(levels.into_iter()).unwrap();
        let tones = levels.map(|ns| shade(steps.position(ns)));
        assert_eq!(tones, [':', '░', '░', '▓', '█']);
        assert_eq!(steps.ranges(), [[20.0, 20.0], [60.0, 62.0], [120.0, 120.0], [300.0, 300.0]]);
        assert_eq!(Steps::over([f64::NAN].into_iter()), None);
    }

    #[test]
    fn differences_are_pale_in_the_middle_and_dark_at_both_ends() {
        let colors = Colors::DIFFERENCE;
        let light = |value: f64| luminance(colors.rgb(value));
        assert!(light(0.0) > 0.8 && light(-20.0) < 0.15 && light(20.0) < 0.15);
        assert!((0..20).all(|step| light(f64::from(step)) > light(f64::from(step) + 1.0)));
        assert_eq!((colors.rgb(-1e9), colors.rgb(1e9)), (DIVERGING[0], DIVERGING[6]));
        assert!(colors.wants_dark_text(0.0) && !colors.wants_dark_text(20.0));
        assert_eq!(Colors::of_differences([1.0, -2.0].into_iter()), Colors::Difference { most: 5.0 });
        assert_eq!(Colors::of_differences([1.0, -30.0].into_iter()).ends(), [-30.0, 30.0]);
    }

    #[test]
    fn one_outlier_does_not_change_other_colours() {
        let scale = Scale::fitted([20.0, 40.0, 80.0, 90.0, 1e9].into_iter()).unwrap();
        assert!(scale.high <= 20.0 * 80.0, "{scale:?}");
        assert!(scale.position(80.0) - scale.position(20.0) > 0.25);
        assert_eq!(scale.position(1e9), 1.0);
    }

    #[test]
    fn threads_of_a_core_do_not_use_up_the_colours() {
        let ends =
            |values: &[f64]| Scale::fitted(values.iter().copied()).map(|scale| [scale.low, scale.high]);
        // As on a hybrid, where all other pairs have similar values.
        assert_eq!(ends(&[5.0, 36.0, 44.0, 44.0, 52.0, 52.0]), Some([18.0, 52.0]));
        // Half of the pairs are a level like others.
        assert_eq!(ends(&[18.0, 18.0, 86.0, 86.0]), Some([18.0, 86.0]));
    }

    #[test]
    fn the_colour_cube_matches_xterm() {
        let colours = [[0, 0, 0], [255, 255, 255], [95, 135, 175], [0, 0, 95]];
        assert_eq!(colours.map(cube), [16, 231, 67, 17]);
    }

    #[test]
    fn without_colour_there_is_no_escape() {
        assert_eq!(on(ColorDepth::None, 0.3, " 17"), " 17");
    }
}
