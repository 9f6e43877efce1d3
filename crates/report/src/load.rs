//! The load that the measured threads put on each CPU during a run.

use super::fmt;
use super::style::Style;
use super::text::{HEIGHTS, right};
use crate::blocks::value::{DisplayValue, Number, Operation, Sentence, Source, pointer};
use crate::blocks::{Block, Drawing};
use crate::render::terminal;
use coretalk_model::quantity::Unit;
use coretalk_model::series::LoadCurve;

/// Maximum number of CPUs with a row each. Of more CPUs, only the mean is drawn. Exported data list each CPU.
const MAX_ROWS: usize = 16;
const LABEL_COLUMNS: usize = 18;

pub(super) fn drawing(curve: &LoadCurve, style: &Style) -> Drawing {
    let steps = curve.cpus.first().map_or(0, |(_, shares)| shares.len());
    let steps_per_column = steps.div_ceil(style.width.saturating_sub(LABEL_COLUMNS).max(8)).max(1);
    let mut rows: Vec<(String, String, Vec<Option<f64>>)> = curve
        .cpus
        .iter()
        .enumerate()
        .map(|(at, (cpu, shares))| (cpu.to_string(), pointer!("/load/cpus/{at}/load/*"), shares.clone()))
        .collect();
    let count = rows.len();
    let step = Source::Field("/load/step_s".to_owned());
    let step = Operation::Product.on([Source::Constant(steps_per_column as f64), step]);
    let step = DisplayValue::bare(Number::Duration(steps_per_column as f64 * curve.step.secs()), step);
    let mut subject = Sentence::new("Load of each CPU");
    if count > MAX_ROWS {
        let of_step = |step: usize| mean(&rows.iter().map(|(.., shares)| shares[step]).collect::<Vec<_>>());
        rows = vec![("all".to_owned(), "/load/cpus/*/load/*".to_owned(), (0..steps).map(of_step).collect())];
        let cpus = DisplayValue::field("/load/cpus", Number::Count(count as u64));
        subject = Sentence::new("Mean load of {count} CPUs").with("count", cpus);
    }
    let sentence = Sentence::new(
        "{who} from the measured threads over the run: each column is {step}, its height the share of that \
         time; the number is the mean.",
    );
    let sentence = sentence.with("who", subject).with("step", step);
    let lines = terminal::lines(&[Block::Prose(sentence.clone())], style);
    let mut drawing = Drawing { lines, said: vec![sentence], ..Drawing::default() };
    for (name, path, shares) in rows {
        let glyphs: String = shares.chunks(steps_per_column).map(|chunk| glyph(mean(chunk))).collect();
        let overall = mean(&shares).map(|overall| {
            let source = Operation::Mean.on([Source::Field(path)]);
            DisplayValue::bare(Number::Point(overall), source).in_unit(Unit::Share)
        });
        let overall = overall.map_or("·".to_owned(), |overall| fmt::drawn(&mut drawing, overall));
        drawing.lines.push(format!(" {} {glyphs} {overall}", right(&name, 4)));
    }
    drawing
}

fn mean(shares: &[Option<f64>]) -> Option<f64> {
    let sum: Option<f64> = shares.iter().copied().sum();
    sum.map(|sum| sum / shares.len().max(1) as f64)
}

fn glyph(share: Option<f64>) -> char {
    match share {
        None => '·',
        Some(share) if share < 0.005 => ' ',
        Some(share) => HEIGHTS[((share * HEIGHTS.len() as f64) as usize).min(HEIGHTS.len() - 1)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretalk_model::{CpuId, Picos};

    fn curve(cpus: &[(u32, &[Option<f64>])]) -> LoadCurve {
        let cpus = cpus.iter().map(|(cpu, shares)| (CpuId(*cpu), shares.to_vec())).collect();
        LoadCurve { step: Picos::from_ms(500), cpus }
    }

    #[test]
    fn rows_show_the_load_of_a_cpu_over_time() {
        let curve = curve(&[(0, &[Some(0.0), Some(0.5), Some(1.0)]), (7, &[None, Some(1.2), Some(0.1)])]);
        let lines = drawing(&curve, &Style::of_width(100)).lines;
        assert!(lines[0].contains("each column is 500 ms"), "{lines:?}");
        assert_eq!(lines[lines.len() - 2..], ["    0  ▅█ 50 %", "    7 ·█▁ ·"]);
    }

    #[test]
    fn many_cpus_are_one_row_and_a_narrow_terminal_has_fewer_columns() {
        let shares = [Some(0.25); 60];
        let cpus: Vec<(u32, &[Option<f64>])> = (0..40).map(|cpu| (cpu, &shares[..])).collect();
        let drawn = drawing(&curve(&cpus), &Style::of_width(50)).lines;
        assert!(drawn[0].contains("Mean load of 40 CPUs"), "{drawn:?}");
        assert!(drawn.join(" ").contains("each column is 1.0 s"), "{drawn:?}");
        assert_eq!(drawn.last().unwrap(), &format!("  all {} 25 %", "▃".repeat(30)));
    }
}
