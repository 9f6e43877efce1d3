//! Tainted homes: a tool that keeps its lines in one place measures pairs elsewhere through that place.
//!
//! Two equal halves of the machine, each with near pairs of its own; far pairs inside one half are clearly nearer than
//! across, and inside the other they are as slow as across. Hardware is not built like that; a line whose home lies in
//! the first half is measured like that.

use super::finding::Doubt;
use super::view::View;
use crate::stats::{median, quantile_of_sorted};

/// Fewer CPUs do not make two halves with structure inside.
const FEWEST_CPUS: usize = 16;
/// What is seen of each CPU: in the half that is clean, two fifths of all others are near enough.
const LOW: f64 = 0.4;
/// Halves are separated by a gap in that. Files without taint have at most 1.09 at equal halves (86 files), tainted
/// ones 1.15 to 1.79.
const GAP: f64 = 1.12;
/// Sizes of the halves may differ by so much of all CPUs.
const UNEQUAL: f64 = 0.05;
/// Far pairs of the clean half, against pairs across: 0.53 to 0.81 where homes are tainted.
const CLEAN: f64 = 0.85;
/// Far pairs of the tainted half, against pairs across: 0.93 to 1.04.
const AS_ACROSS: std::ops::RangeInclusive<f64> = 0.9..=1.1;
/// Cores of two kinds are slow for another reason: their nearest CPUs differ too.
const ALIKE: f64 = 1.5;

pub(super) fn check(view: &View<'_>) -> Option<Doubt> {
    let n = view.len();
    if n < FEWEST_CPUS {
        return None;
    }
    let low: Vec<f64> =
        (0..n).map(|cpu| quantile_of_sorted(&view.row(cpu), LOW).unwrap_or(f64::NAN)).collect();
    let mut order: Vec<usize> = (0..n).filter(|&cpu| low[cpu].is_finite()).collect();
    order.sort_by(|&a, &b| low[a].total_cmp(&low[b]));
    let half = order.len() as f64 / 2.0;
    let slack = UNEQUAL * order.len() as f64;
    let cuts = (half - slack).ceil() as usize..=(half + slack).floor() as usize;
    let gap = |cut: usize| low[order[cut]] / low[order[cut - 1]];
    let cut = cuts.filter(|&cut| cut > 0 && cut < order.len()).max_by(|&a, &b| gap(a).total_cmp(&gap(b)))?;
    if gap(cut) < GAP {
        return None;
    }
    let (clean, tainted) = order.split_at(cut);
    let inside = |cpus: &[usize]| {
        let mut values: Vec<f64> = cpus
            .iter()
            .enumerate()
            .flat_map(|(index, &a)| cpus[..index].iter().map(move |&b| view.both[a][b]))
            .filter(|ns| ns.is_finite())
            .collect();
        values.sort_unstable_by(f64::total_cmp);
        quantile_of_sorted(&values, 0.75)
    };
    let across: Vec<f64> = clean
        .iter()
        .flat_map(|&a| tainted.iter().map(move |&b| view.both[a][b]))
        .filter(|ns| ns.is_finite())
        .collect();
    let far = [inside(clean)?, inside(tainted)?, median(&across)?];
    let near = |cpus: &[usize]| {
        let nearest: Vec<f64> = cpus.iter().filter_map(|&cpu| Some(view.nearest(cpu)?.1)).collect();
        median(&nearest)
    };
    let (a, b) = (near(clean)?, near(tainted)?);
    let alike = a.max(b) <= ALIKE * a.min(b);
    let found = far[0] <= CLEAN * far[2] && AS_ACROSS.contains(&(far[1] / far[2])) && alike;
    let set = |cpus: &[usize]| cpus.iter().map(|&cpu| view.cpu(cpu)).collect();
    found.then(|| Doubt::TaintedHome { clean: set(clean), tainted: set(tainted), far })
}
