//! [`compare`]: levels first, then cells.
//!
//! Values are compared as logarithms, so that a shift of 0.05 is about 5 % at 8 ns and at 200. The shift of a level is
//! the median of the Walsh averages over its pairs (Hodges and Lehmann 1963), each pair against itself. What it could
//! be by chance comes from the spread between the pairs of the level where there are many, which is measured on the
//! very two runs (an empirical null, Efron 2004), and from the intervals of the cells where there are few; to both is
//! added what all pairs of a run share. Levels are corrected for their number after Holm (family-wise error 0.1 %),
//! cells after Benjamini and Hochberg (false discovery rate 5 %), and a difference has to be large enough to matter.

use super::effect::Outcome;
use super::{Better, LeastEffect, Levels, Reading, Sheet, Side, Subject, Value, Verdict};
use crate::stats::compare::paired_location;
use crate::stats::{Estimate, MadScale, mad, median, multiple};

/// Error that all level verdicts of a comparison may make together.
const FAMILY_ERROR: f64 = 0.001;
/// Share of the cells called different that may be wrong.
const FALSE_DISCOVERIES: f64 = 0.05;
/// From so many pairs on, the spread between them is known well enough to judge by it.
const PAIRS_THAT_TELL: usize = 20;
/// Two runs on one idle host repeat the median of a level within 1 %: the difference has a deviation of 0.7 %.
const SHARED_BY_A_RUN: f64 = 0.007;
/// Files say nothing of their conditions: 1.5 % is what even careful runs differ by across reboots.
const SHARED_BY_A_FILE: f64 = 0.015;
/// Plateaus lie at least 15 % apart: what moves a guest's level by more may be the host moving its CPUs.
const PLATEAU: f64 = 0.14;
/// What a median of Walsh averages makes of normal errors, against their mean (Hodges and Lehmann 1963).
const EFFICIENCY: f64 = 0.955;

/// What two sides say when they are held against each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// One for each pair of equal sheets.
    pub sheets: Vec<SheetComparison>,
    /// What only one side holds.
    pub unmatched: Unmatched,
}

/// Sheets that only one side holds, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unmatched {
    /// A.
    pub in_a: Vec<String>,
    /// B.
    pub in_b: Vec<String>,
}

/// In what the shifts of a sheet are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Core cycles: what outlasts a change of the clock.
    Cycles,
    /// The unit as read, because a side does not know its core clock.
    AsRead,
}

/// Two equal sheets against each other.
#[derive(Debug, Clone, PartialEq)]
pub struct SheetComparison {
    /// Its name.
    pub name: String,
    /// Its quantity.
    pub quantity: String,
    /// Unit of `a` and `b` in its differences.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// In what shifts are measured.
    pub basis: Basis,
    /// By level, nearest first.
    pub levels: Vec<LevelDifference>,
    /// By cell, in the order of subjects.
    pub cells: Vec<CellDifference>,
    /// Subjects with a value on one side only.
    pub lonely: usize,
    /// Subjects that both sides have, of which one is zero or less.
    pub without_ratio: usize,
}

impl SheetComparison {
    /// What B is where a difference is shown, worse and better: of times and rates slower and faster; a variation says
    /// nothing of how long anything takes.
    pub fn called(&self) -> [&'static str; 2] {
        match self.quantity.as_str() {
            "one_way_variation" => ["less steady", "steadier"],
            _ => ["slower", "faster"],
        }
    }

    /// The word for a shift above zero.
    pub fn called_above(&self) -> &'static str {
        let [worse, better] = self.called();
        if self.better == Better::Lower { worse } else { better }
    }
}

/// A verdict with its numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Value of A in the unit as read: of a level the median.
    pub a: f64,
    /// Value of B.
    pub b: f64,
    /// B ÷ A − 1 in the basis of the sheet, with its 95 % interval; the interval is endless where the error is unknown.
    pub shift: Estimate,
    /// Corrected p-value of "no difference".
    pub q_value: f64,
    /// What is shown.
    pub verdict: Verdict,
    /// The difference is shown to stay within this share, at 95 %; `None` where the error is unknown.
    pub within: Option<f64>,
    /// The least share that counts here.
    pub least: f64,
    /// Why it cannot be told, where more is known than that the error is too large.
    pub reason: Option<&'static str>,
}

/// A level.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelDifference {
    /// A relation, `all`, or the name of a series.
    pub level: String,
    /// Pairs that both sides have.
    pub pairs: usize,
    /// Pairs among them that changed state during a run and were left out.
    pub moved: usize,
    /// The verdict.
    pub difference: Difference,
    /// B ÷ A − 1 in the unit as read, where the basis is another.
    pub as_read: Option<f64>,
}

impl LevelDifference {
    /// Core clock of B ÷ that of A − 1, from what the shift as read makes of the shift in cycles: nanoseconds are cycles
    /// ÷ clock. `None` where one of them is not known.
    ///
    /// Never below −1: a clock falls by less than all of it, however much longer everything takes.
    pub fn clock(&self) -> Option<f64> {
        let ratio = (1.0 + self.difference.shift.point) / (1.0 + self.as_read?);
        (ratio.is_finite() && ratio > 0.0).then_some(ratio - 1.0)
    }
}

/// A cell.
#[derive(Debug, Clone, PartialEq)]
pub struct CellDifference {
    /// Which.
    pub subject: Subject,
    /// Position of its level in [`SheetComparison::levels`].
    pub level: usize,
    /// The verdict.
    pub difference: Difference,
}

/// The spread between pairs is not known from a few, and neither do they carry intervals.
const NO_ERROR_KNOWN: &str = "too few pairs without intervals";
/// The machine changed its state in most pairs.
const MOVED: &str = "changed state during a run";
/// A guest's CPUs may be moved by the host.
const FLOATS: &str = "on a guest the host may have moved the CPUs";

/// Holds two sides against each other. Sheets of one name belong together; where each side has a single one they do so
/// whatever their names. Levels of a sheet without a pair on both sides are left out, and sheets without a value on either.
pub fn compare(a: &Side, b: &Side, levels: &Levels, least: LeastEffect) -> Comparison {
    let (pairs, unmatched) = pair_up(a, b);
    let guest = a.guest || b.guest;
    let mut drafts: Vec<Draft<'_>> = pairs
        .into_iter()
        .filter(|(left, right)| !(left.readings.is_empty() && right.readings.is_empty()))
        .map(|(left, right)| Draft::new(left, right, levels, least, guest))
        .collect();
    correct(&mut drafts, |draft| &mut draft.levels, multiple::holm, FAMILY_ERROR);
    correct(&mut drafts, |draft| &mut draft.cells, multiple::benjamini_hochberg, FALSE_DISCOVERIES);
    Comparison { sheets: drafts.into_iter().map(Draft::finish).collect(), unmatched }
}

/// Sheets that belong together, and the names of those that stand alone.
pub(super) fn pair_up<'a>(a: &'a Side, b: &'a Side) -> (Vec<(&'a Sheet, &'a Sheet)>, Unmatched) {
    let by_name = |sheet: &'a Sheet| Some((sheet, b.sheets.iter().find(|other| other.name == sheet.name)?));
    let mut pairs: Vec<(&Sheet, &Sheet)> = a.sheets.iter().filter_map(by_name).collect();
    if let ([], [left], [right]) = (pairs.as_slice(), a.sheets.as_slice(), b.sheets.as_slice()) {
        pairs.push((left, right));
    }
    let alone = |sheets: &[Sheet]| {
        let paired = |sheet: &Sheet| {
            pairs.iter().any(|(left, right)| std::ptr::eq(*left, sheet) || std::ptr::eq(*right, sheet))
        };
        sheets.iter().filter(|sheet| !paired(sheet)).map(|sheet| sheet.name.clone()).collect()
    };
    let unmatched = Unmatched { in_a: alone(&a.sheets), in_b: alone(&b.sheets) };
    (pairs, unmatched)
}

/// Corrects the p-values of every sheet together and draws the verdicts.
fn correct<'a>(
    drafts: &mut [Draft<'a>],
    of: impl for<'d> Fn(&'d mut Draft<'a>) -> &'d mut Vec<Judged>,
    method: impl Fn(&[f64]) -> Vec<f64>,
    error: f64,
) {
    let p_values: Vec<f64> = drafts
        .iter_mut()
        .flat_map(|draft| of(draft).iter().map(Judged::p_value).collect::<Vec<_>>())
        .collect();
    let mut adjusted = method(&p_values).into_iter();
    for draft in drafts {
        let better = draft.a.better;
        for judged in of(draft) {
            judged.conclude(adjusted.next().unwrap_or(1.0), error, better);
        }
    }
}

/// A subject that both sides have.
struct Joined<'a> {
    subject: &'a Subject,
    a: Reading,
    b: Reading,
    /// ln(B ÷ A) in the basis, and its deviation where both sides know theirs.
    shift: f64,
    deviation: Option<f64>,
}

impl Joined<'_> {
    fn steady(&self) -> bool {
        self.a.steady && self.b.steady
    }
}

/// Numbers before the correction, and the verdict after it.
#[derive(Debug, Clone)]
struct Judged {
    a: f64,
    b: f64,
    /// `None` where nothing is known of the error.
    outcome: Option<Outcome>,
    shift: f64,
    margin: f64,
    reason: Option<&'static str>,
    q_value: f64,
    verdict: Verdict,
}

impl Judged {
    fn p_value(&self) -> f64 {
        self.outcome.filter(|_| self.reason.is_none()).map_or(1.0, |outcome| outcome.p_value())
    }

    fn conclude(&mut self, adjusted: f64, error: f64, better: Better) {
        self.q_value = adjusted;
        self.verdict = match (&self.outcome, self.reason) {
            (Some(outcome), None) => outcome.verdict(adjusted, error, better),
            _ => Verdict::CannotTell,
        };
    }

    fn difference(self) -> Difference {
        let ratio = |log: f64| log.exp() - 1.0;
        let deviation = self.outcome.map_or(f64::INFINITY, |outcome| outcome.deviation);
        let shift = Estimate {
            point: ratio(self.shift),
            low: ratio(self.shift - 1.96 * deviation),
            high: ratio(self.shift + 1.96 * deviation),
            confidence: if self.outcome.is_some() { 0.95 } else { 0.0 },
            effective_n: 1.0,
        };
        Difference {
            a: self.a,
            b: self.b,
            shift,
            q_value: self.q_value,
            verdict: self.verdict,
            within: self.outcome.map(|outcome| ratio(outcome.within())),
            least: ratio(self.margin),
            reason: self.reason,
        }
    }
}

/// A sheet in the making.
struct Draft<'a> {
    a: &'a Sheet,
    basis: Basis,
    names: Vec<(String, usize, usize, Option<f64>)>,
    levels: Vec<Judged>,
    subjects: Vec<(&'a Subject, usize)>,
    cells: Vec<Judged>,
    lonely: usize,
    without_ratio: usize,
}

impl<'a> Draft<'a> {
    fn new(a: &'a Sheet, b: &'a Sheet, levels: &Levels, least: LeastEffect, guest: bool) -> Draft<'a> {
        let (joined, basis) = join(a, b);
        let shared = a.readings.keys().filter(|subject| b.readings.contains_key(subject)).count();
        let mut draft = Draft {
            a,
            basis,
            names: Vec::new(),
            levels: Vec::new(),
            subjects: Vec::new(),
            cells: Vec::new(),
            lonely: a.readings.len() + b.readings.len() - 2 * shared,
            without_ratio: shared - joined.len(),
        };
        let resolution = a.resolution.max(b.resolution);
        let negligible = a.negligible.max(b.negligible);
        let margin = |value: f64| least.margin(value, resolution, negligible);
        // What is too little to matter in one pair matters in the mean of many: 5 % of 5 ns are less than 0.3 ns.
        let margin_of_level = |value: f64| least.margin(value, resolution, 0.0);
        for (name, members) in levels.group(joined.iter().map(|joined| joined.subject)) {
            let members: Vec<&Joined<'_>> = members.into_iter().map(|index| &joined[index]).collect();
            let noise = Noise::of(&members);
            let moved = members.iter().filter(|joined| !joined.steady()).count();
            let level = judge_level(&members, &noise, &margin_of_level, guest);
            let as_read = (basis == Basis::Cycles).then(|| {
                let shifts: Vec<f64> =
                    steady(&members).map(|cell| (cell.b.value.point / cell.a.value.point).ln()).collect();
                paired_location(&shifts).map_or(f64::NAN, |shift| shift.exp() - 1.0)
            });
            for cell in &members {
                draft.subjects.push((cell.subject, draft.names.len()));
                draft.cells.push(judge_cell(cell, &noise, &margin, guest));
            }
            draft.names.push((name, members.len(), moved, as_read));
            draft.levels.push(level);
        }
        draft
    }

    fn finish(self) -> SheetComparison {
        let levels = self.names.into_iter().zip(self.levels);
        let cells = self.subjects.into_iter().zip(self.cells);
        let mut cells: Vec<CellDifference> = cells
            .map(|((subject, level), cell)| CellDifference {
                subject: subject.clone(),
                level,
                difference: cell.difference(),
            })
            .collect();
        cells.sort_by(|x, y| x.subject.cmp(&y.subject));
        SheetComparison {
            name: self.a.name.clone(),
            quantity: self.a.quantity.clone(),
            unit: self.a.unit.clone(),
            better: self.a.better,
            basis: self.basis,
            levels: levels
                .map(|((level, pairs, moved, as_read), judged)| LevelDifference {
                    level,
                    pairs,
                    moved,
                    difference: judged.difference(),
                    as_read,
                })
                .collect(),
            cells,
            lonely: self.lonely,
            without_ratio: self.without_ratio,
        }
    }
}

/// What both sides have, in core cycles where every one of them is known in cycles on both.
fn join<'a>(a: &'a Sheet, b: &'a Sheet) -> (Vec<Joined<'a>>, Basis) {
    let usable = |value: f64| value.is_finite() && value > 0.0;
    let both = |(subject, left): (&'a Subject, &'a Reading)| {
        let right = b.readings.get(subject)?;
        let comparable = usable(left.value.point) && usable(right.value.point);
        comparable.then_some((subject, *left, *right))
    };
    let common: Vec<(&Subject, Reading, Reading)> = a.readings.iter().filter_map(both).collect();
    let clocked = |reading: &Reading| reading.cycles.is_some_and(|cycles| usable(cycles.point));
    let cycles = !common.is_empty() && common.iter().all(|(_, left, right)| clocked(left) && clocked(right));
    let basis = if cycles { Basis::Cycles } else { Basis::AsRead };
    let pick = |reading: &Reading| match basis {
        Basis::Cycles => reading.cycles.unwrap_or(reading.value),
        Basis::AsRead => reading.value,
    };
    let joined = common
        .into_iter()
        .map(|(subject, left, right)| {
            let (x, y): (Value, Value) = (pick(&left), pick(&right));
            let deviation = x.deviation.zip(y.deviation).map(|(x, y)| x.hypot(y));
            Joined { subject, a: left, b: right, shift: (y.point / x.point).ln(), deviation }
        })
        .collect();
    (joined, basis)
}

fn steady<'m, 'a>(members: &'m [&'m Joined<'a>]) -> impl Iterator<Item = &'m Joined<'a>> {
    members.iter().copied().filter(|joined| joined.steady())
}

/// What a level's pairs show of chance.
struct Noise {
    /// Deviation of the shift of one pair; `None` where nothing is known.
    cell: Option<f64>,
    /// Median over the pairs of what their intervals say, where the spread between pairs decides.
    typical: Option<f64>,
    /// Deviation that all pairs share.
    shared: f64,
}

impl Noise {
    fn of(members: &[&Joined<'_>]) -> Noise {
        let shifts: Vec<f64> = steady(members).map(|joined| joined.shift).collect();
        let known: Vec<f64> = steady(members).filter_map(|joined| joined.deviation).collect();
        let all_known = known.len() == shifts.len();
        let shared = if all_known { SHARED_BY_A_RUN } else { SHARED_BY_A_FILE };
        let spread = mad(&shifts, MadScale::Normal);
        if shifts.len() >= PAIRS_THAT_TELL {
            return Noise { cell: spread, typical: median(&known).filter(|_| all_known), shared };
        }
        if !all_known || shifts.is_empty() {
            return Noise { cell: None, typical: None, shared };
        }
        let squares: f64 = known.iter().map(|deviation| deviation * deviation).sum();
        let claimed = (squares / known.len() as f64).sqrt();
        Noise { cell: Some(claimed.max(spread.unwrap_or(0.0))), typical: None, shared }
    }

    /// Deviation of the shift of this pair: that of its level, wider where its own intervals are; in a small level its
    /// own intervals alone.
    fn of_cell(&self, joined: &Joined<'_>) -> Option<f64> {
        let own = match (self.typical, joined.deviation) {
            (Some(typical), Some(own)) => self.cell? * (own / typical).max(1.0),
            (None, Some(own)) => own,
            (_, None) => self.cell?,
        };
        Some(own.hypot(self.shared))
    }
}

fn judge_level(members: &[&Joined<'_>], noise: &Noise, margin: &impl Fn(f64) -> f64, guest: bool) -> Judged {
    let still: Vec<&Joined<'_>> = steady(members).collect();
    let told: &[&Joined<'_>] = if still.is_empty() { members } else { &still };
    let middle = |side: fn(&Joined<'_>) -> f64| {
        median(&told.iter().map(|joined| side(joined)).collect::<Vec<_>>()).unwrap_or(f64::NAN)
    };
    let (a, b) = (middle(|joined| joined.a.value.point), middle(|joined| joined.b.value.point));
    let shifts: Vec<f64> = told.iter().map(|joined| joined.shift).collect();
    let shift = paired_location(&shifts).unwrap_or(f64::NAN);
    let margin = margin(a.min(b));
    let pairs = told.len() as f64;
    let deviation = noise.cell.map(|cell| (cell * cell / (EFFICIENCY * pairs)).sqrt().hypot(noise.shared));
    let reason = if 2 * still.len() < members.len() {
        Some(MOVED)
    } else if deviation.is_none() {
        Some(NO_ERROR_KNOWN)
    } else {
        floats(shift, guest)
    };
    judged(a, b, shift, deviation, margin, reason)
}

fn judge_cell(joined: &Joined<'_>, noise: &Noise, margin: &impl Fn(f64) -> f64, guest: bool) -> Judged {
    let (a, b) = (joined.a.value.point, joined.b.value.point);
    let deviation = noise.of_cell(joined);
    let reason = if !joined.steady() {
        Some(MOVED)
    } else if deviation.is_none() {
        Some(NO_ERROR_KNOWN)
    } else {
        floats(joined.shift, guest)
    };
    judged(a, b, joined.shift, deviation, margin(a.min(b)), reason)
}

fn floats(shift: f64, guest: bool) -> Option<&'static str> {
    (guest && shift.abs() > PLATEAU).then_some(FLOATS)
}

fn judged(
    a: f64,
    b: f64,
    shift: f64,
    deviation: Option<f64>,
    margin: f64,
    reason: Option<&'static str>,
) -> Judged {
    let outcome = deviation.map(|deviation| Outcome { shift, deviation, margin });
    Judged { a, b, outcome, shift, margin, reason, q_value: 1.0, verdict: Verdict::CannotTell }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variation_is_never_called_fast_and_more_of_a_rate_is() {
        let sheet = |quantity: &str, better| SheetComparison {
            name: String::new(),
            quantity: quantity.into(),
            unit: String::new(),
            better,
            basis: Basis::AsRead,
            levels: Vec::new(),
            cells: Vec::new(),
            lonely: 0,
            without_ratio: 0,
        };
        assert_eq!(sheet("half_round_trip", Better::Lower).called_above(), "slower");
        assert_eq!(sheet("throughput", Better::Higher).called_above(), "faster");
        let variation = sheet("one_way_variation", Better::Lower);
        assert_eq!((variation.called_above(), variation.called()[1]), ("less steady", "steadier"));
    }

    #[test]
    fn twice_the_time_for_the_same_cycles_is_half_the_clock() {
        let exact = Estimate { point: 0.0, low: 0.0, high: 0.0, confidence: 0.95, effective_n: 8.0 };
        let difference = Difference {
            a: 10.0,
            b: 20.4,
            shift: exact,
            q_value: 1.0,
            verdict: Verdict::Same,
            within: Some(0.01),
            least: 0.03,
            reason: None,
        };
        let level = |as_read: Option<f64>| LevelDifference {
            level: "l3".into(),
            pairs: 8,
            moved: 0,
            difference: difference.clone(),
            as_read,
        };
        let clock = level(Some(1.04)).clock().unwrap();
        assert!((clock + 1.04 / 2.04).abs() < 1e-12, "lower by 51 %, not by 104: {clock}");
        assert!((level(Some(-0.5)).clock().unwrap() - 1.0).abs() < 1e-12, "twice the clock");
        assert_eq!(
            (level(None).clock(), level(Some(-1.0)).clock(), level(Some(f64::NAN)).clock()),
            (None, None, None)
        );
    }
}
