//! [`Progress`]: shows the progress of a run and the growing map. Draws only at commits, without a thread.

use coretalk_measure::session::{Commit, Event, Observer};
use coretalk_model::latency::summary::PairReading;
use coretalk_model::latency::{Purpose, Visit};
use coretalk_model::stats::{interpolated_median_interval, median};
use coretalk_model::{CpuId, Matrix, Topology};
use coretalk_report::blocks::Block;
use coretalk_report::blocks::value::MapSource;
use coretalk_report::blocks::value::Sentence;
use coretalk_report::fmt::digits::{duration, ns, plus_minus};
use coretalk_report::heat_map::PairMap;
use coretalk_report::render::terminal;
use coretalk_report::saved::departed_text;
use coretalk_report::style::Style;
use coretalk_report::text::{HEIGHTS, cut};
use std::borrow::Cow;
use std::io::Write;
use std::time::Duration;

const LOG_INTERVAL: Duration = Duration::from_secs(30);
/// Minimum interval between two drawings on a terminal. People cannot follow more, and each drawing lengthens a commit.
const DRAW_INTERVAL: Duration = Duration::from_millis(200);

/// Above this number of CPUs, a map takes tens of milliseconds to draw (1,024 CPUs: half a million cells). It is drawn
/// rarely, because no CPU measures during a drawing.
const LARGE: usize = 256;
const LARGE_INTERVAL: Duration = Duration::from_secs(2);

const MIN_PROVISIONAL_VALUES: usize = 6;
/// Ratio of the slowest to the fastest period above which one number does not describe a pair.
const CHANGED: f64 = 1.25;
const MAX_SHARE: f64 = 0.99;
/// Remaining seconds below which `finishing` is shown instead of an estimate.
const MIN_LEFT_S: f64 = 0.05;

/// Output for progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// A terminal. Progress is drawn in place, with the map if it fits.
    Terminal {
        /// Rows of the terminal.
        rows: usize,
    },
    /// A log. At most one line is written every 30 s.
    Log,
}

/// Shows the progress of a run to a person.
pub struct Progress<W, C> {
    out: W,
    clock: C,
    audience: Audience,
    style: Style,
    topology: Topology,
    cells: Vec<[CpuId; 2]>,
    filling: Matrix<Option<PairReading>>,
    phase: Purpose,
    in_trials: bool,
    last_drawing: Option<Duration>,
    drawn_lines: usize,
    /// Expected duration of later parts of the run.
    later: Duration,
    /// Machine time in seconds: of earlier parts, and of all parts so far.
    before: f64,
    elapsed_s: f64,
    /// Last share shown; never decreases.
    share: f64,
    /// Probe of each trial, and the trial of the last pass.
    probes: Vec<String>,
    last_trial: Option<usize>,
    /// Values of the passes in time order, if there is only one pair.
    values: Vec<f64>,
}

impl<W: Write, C: FnMut() -> Duration> Progress<W, C> {
    /// Starts the progress of a run over these cells, in the order of [`cells`](coretalk_model::latency::cells).
    /// `clock` returns the wall time since some start, because people wait in wall time.
    pub fn new(
        out: W,
        clock: C,
        audience: Audience,
        style: Style,
        topology: Topology,
        cpus: &[CpuId],
        cells: Vec<[CpuId; 2]>,
    ) -> Progress<W, C> {
        let filling = Matrix::symmetric(cpus.to_vec(), |_, _| None);
        let phase = Purpose::Pilot;
        Progress {
            out,
            clock,
            audience,
            style,
            topology,
            cells,
            filling,
            phase,
            in_trials: false,
            last_drawing: None,
            drawn_lines: 0,
            later: Duration::ZERO,
            before: 0.0,
            elapsed_s: 0.0,
            share: 0.0,
            probes: Vec::new(),
            last_trial: None,
            values: Vec::new(),
        }
    }

    /// Extends the bar to the later trials, with their expected duration.
    pub fn then(self, later: Duration) -> Progress<W, C> {
        Progress { later, ..self }
    }

    /// Sets the probes of the trials.
    pub fn of_probes(self, probes: Vec<String>) -> Progress<W, C> {
        Progress { probes, ..self }
    }

    /// Erases the drawing from the terminal, so that only the result remains.
    pub fn clear(&mut self) {
        if self.drawn_lines > 0 {
            // Starts at the left edge, because a terminal echoes typed keys such as `^C` at the cursor. Write errors
            // such as a closed pipe are ignored, because the run does not depend on its progress.
            let _ = write!(self.out, "\r\x1b[{}A\x1b[J", self.drawn_lines);
            let _ = self.out.flush();
            self.drawn_lines = 0;
        }
    }

    fn fill(&mut self, commit: &Commit) {
        let positions: std::collections::HashMap<CpuId, usize> =
            self.filling.cpus().iter().enumerate().map(|(position, cpu)| (*cpu, position)).collect();
        for round in commit.rounds.iter().filter(|round| round.purpose == Purpose::Map) {
            for trial in &round.trials {
                let Some([a, b]) = self.cells.get(trial.cell as usize) else { continue };
                let Ok(visit) = &trial.outcome else { continue };
                let (Some(row), Some(column)) = (positions.get(a), positions.get(b)) else { continue };
                if let (Some(reading), Some(cell)) = (reading_of(visit), self.filling.get_mut(*row, *column))
                {
                    *cell = Some(reading);
                    self.values.extend((self.cells.len() == 1).then_some(reading.ns));
                }
            }
        }
    }

    /// Updates the progress of a part of the run. Returns the remaining seconds of the whole run.
    fn advance(&mut self, progress: f64, left: f64) -> f64 {
        if progress < 1.0 {
            self.elapsed_s = self.before + left * progress / (1.0 - progress);
        }
        let left = left + if self.in_trials { 0.0 } else { self.later.as_secs_f64() };
        let share = self.elapsed_s / (self.elapsed_s + left).max(1e-9);
        // Never shows 100 %, because the run is complete only with its result.
        self.share = if left == 0.0 { MAX_SHARE } else { share.max(self.share).min(MAX_SHARE) };
        left
    }

    fn draw(&mut self, left: f64) {
        let now = (self.clock)();
        let interval = match self.audience {
            Audience::Terminal { .. } if self.filling.len() > LARGE => LARGE_INTERVAL,
            Audience::Terminal { .. } => DRAW_INTERVAL,
            Audience::Log => LOG_INTERVAL,
        };
        if self.last_drawing.is_some_and(|last| now.saturating_sub(last) < interval) {
            return;
        }
        // A log gets its first line after the first interval, so that short runs stay silent.
        let first = self.last_drawing.replace(now).is_none();
        let line = self.line(left);
        match self.audience {
            Audience::Log if first => {}
            Audience::Log => {
                let _ = writeln!(self.out, "{line}");
            }
            Audience::Terminal { rows } => {
                let map = PairMap::new(Cow::Borrowed(&self.filling), &self.topology, MapSource::Unfinished);
                let mut lines = map.draw(&self.style).0.lines;
                // One pair has no map. A map that scrolls off the screen cannot be redrawn in place.
                if self.in_trials || self.filling.len() < 3 || lines.len() + 2 > rows {
                    lines.clear();
                }
                lines.extend(self.provisional_lines());
                lines.push(line);
                self.clear();
                for line in &lines {
                    let _ = writeln!(self.out, "{line}");
                }
                self.drawn_lines = lines.len();
            }
        }
        let _ = self.out.flush();
    }

    fn activity(&self) -> String {
        let probe = self.last_trial.and_then(|trial| self.probes.get(trial));
        match (self.in_trials, probe, &self.cells[..], self.phase) {
            (true, Some(probe), ..) => format!("measuring {probe}"),
            (true, None, ..) => "measuring trials".to_owned(),
            (false, _, [[a, b]], Purpose::Map) => format!("watching CPUs {a} and {b}"),
            _ => phase_words(self.phase).to_owned(),
        }
    }

    fn provisional_lines(&self) -> Vec<String> {
        let known = interpolated_median_interval(&self.values, 0.05)
            .filter(|_| self.values.len() >= MIN_PROVISIONAL_VALUES);
        let Some(known) = known else { return Vec::new() };
        let room = self.style.width.saturating_sub(20).min(self.values.len());
        let of_column = |column: usize| {
            let [from, to] = [column, column + 1].map(|end| end * self.values.len() / room);
            median(&self.values[from..to.max(from + 1)]).unwrap_or(known.point)
        };
        let strip: Vec<f64> = (0..room).map(of_column).collect();
        let (low, high) =
            strip.iter().fold((f64::INFINITY, 0f64), |(l, h), value| (l.min(*value), h.max(*value)));
        // Variations of less than a quarter do not fill the height.
        let span = (high / low).ln().max(CHANGED.ln());
        let glyph = |value: &f64| HEIGHTS[(((value / low).ln() / span * 7.0) as usize).min(7)];
        let drawn: String = strip.iter().map(glyph).collect();
        // The range is printed only if the values differ visibly.
        let (words, scale) = if high < CHANGED * low {
            let half_width = (known.high - known.point).max(known.point - known.low);
            let value = format!("{} {}", ns(known.point), plus_minus(known.point, half_width));
            (format!("{value} ns so far, one level"), String::new())
        } else {
            let [value, low, high] = [known.point, low, high].map(ns);
            (format!("{value} ns so far, at times {low} or {high}"), format!("  {low} to {high} ns"))
        };
        let words = format!(" {words} · Ctrl-C keeps it");
        vec![cut(&words, self.style.width), format!(" {drawn}{scale}")]
    }

    fn line(&self, left: f64) -> String {
        let share = self.share;
        let left =
            if left < MIN_LEFT_S { "finishing".to_owned() } else { format!("{} left", duration(left)) };
        let words = format!(" {:>3.0} % · {left} · {}", 100.0 * share, self.activity());
        let line = match self.audience {
            Audience::Log => format!("coretalk:{words}"),
            Audience::Terminal { .. } => {
                let full = (share * 24.0).floor() as usize;
                format!(" ▕{}{}▏{words}", "█".repeat(full), " ".repeat(24 - full))
            }
        };
        cut(&line, self.style.width)
    }
}

impl<W: Write, C: FnMut() -> Duration> Progress<W, C> {
    fn print_notice(&mut self, text: &str) {
        self.clear();
        let remark = Block::Headline(Sentence::new("coretalk: {text}").with_name("text", text));
        for line in terminal::lines(&[remark], &self.style) {
            let _ = writeln!(self.out, "{line}");
        }
    }
}

impl<W: Write, C: FnMut() -> Duration> Observer for Progress<W, C> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Phase { purpose } => self.phase = purpose,
            Event::Notice { text } => self.print_notice(&text),
            Event::Departed { departure, again: false } => {
                let loss = departed_text(&departure);
                self.print_notice(&format!("{loss}; the run continues without it"));
            }
            Event::Departed { departure, again: true } => {
                self.print_notice(&format!("the system lists CPU {} as offline now", departure.cpu));
            }
            Event::Committed { slot: commit, progress, left } => {
                if !self.in_trials && !commit.passes.is_empty() {
                    self.in_trials = true;
                    self.before = self.elapsed_s;
                }
                self.last_trial = commit.passes.last().map(|entry| entry.trial as usize).or(self.last_trial);
                self.fill(commit);
                let left = self.advance(progress, left.secs());
                self.draw(left);
            }
        }
    }
}

fn reading_of(visit: &Visit) -> Option<PairReading> {
    let span = visit.spans.first()?;
    Some(PairReading { ns: f64::from(span.location_ns), doubtful: visit.flags.may_be_wrong() })
}

fn phase_words(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Pilot => "choosing the wait hint",
        Purpose::Map => "measuring the map",
        Purpose::Gate => "checking pairs one at a time",
        Purpose::Again => "repeating doubtful pairs",
        Purpose::Ladder => "measuring the ladder",
        Purpose::Tails => "timing single round trips",
        Purpose::Imitation | Purpose::ImitationBack => "reproducing other tools",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretalk_model::latency::{LatencySettings, RecordedRound, RecordedTrial, SpanSummary, cells};
    use coretalk_model::series::SeriesEntry;
    use coretalk_model::{Flags, Hint, Home, KernelId, Picos, Protocol};
    use std::cell::Cell;

    const TERMINAL: Audience = Audience::Terminal { rows: 30 };

    fn commit(cell: u32, ns: f32) -> Commit {
        let span = SpanSummary {
            kernel: KernelId::new(Protocol::Cas, Hint::None),
            home: Home(0),
            location_ns: ns,
            line_error_ns: None,
            floor_ns: ns,
            line_spread: None,
            kept: 8,
            dropped: 0,
        };
        let started = Picos::ZERO;
        let visit = Visit { cell, started, core_ghz: None, flags: Flags::NONE, spans: vec![span] };
        let trials = vec![RecordedTrial { cell, outcome: Ok(visit), raw: None }];
        let round = RecordedRound { purpose: Purpose::Map, pass: 0, started, elapsed: started, trials };
        Commit { rounds: vec![round], ..Commit::default() }
    }

    fn progress<C: FnMut() -> Duration>(
        cpus: u32,
        audience: Audience,
        out: &mut Vec<u8>,
        clock: C,
    ) -> Progress<&mut Vec<u8>, C> {
        let topology = Topology::flat((0..cpus).map(CpuId).collect());
        let settings = LatencySettings::for_cpus(topology.cpus().iter().collect());
        let cells = cells(&topology, &settings);
        Progress::new(out, clock, audience, Style::default(), topology, &settings.cpus, cells)
    }

    /// The output of commits of a map at these seconds of the minute that it takes.
    fn drawn_at(audience: Audience, seconds: &[u64]) -> String {
        let now = Cell::new(Duration::ZERO);
        let mut out = Vec::new();
        let mut progress = progress(3, audience, &mut out, || now.get());
        progress.event(Event::Phase { purpose: Purpose::Map });
        for (index, &second) in seconds.iter().enumerate() {
            now.set(Duration::from_secs(second));
            let commit = commit(index as u32 % 3, 20.0 + index as f32);
            let left = Picos::from_secs(60.0 - second as f64);
            progress.event(Event::Committed { slot: &commit, progress: second as f64 / 60.0, left });
        }
        String::from_utf8(out).unwrap()
    }

    fn last_drawing(drawn: &str) -> &str {
        drawn.rsplit("\x1b[J").next().unwrap()
    }

    #[test]
    fn a_log_gets_a_line_every_half_minute_and_none_for_a_short_run() {
        assert_eq!(drawn_at(Audience::Log, &[0, 1, 5, 9]), "");
        let log = drawn_at(Audience::Log, &[0, 10, 29, 31, 45, 60]);
        assert_eq!(log, "coretalk:  52 % · 29 s left · measuring the map\n");
    }

    #[test]
    fn a_run_longer_than_its_estimate_is_shown_as_finishing() {
        let log = drawn_at(Audience::Log, &[0, 60]);
        assert_eq!(log, "coretalk:  99 % · finishing · measuring the map\n");
        let bar = drawn_at(Audience::Terminal { rows: 5 }, &[60]);
        assert!(bar.contains("█ ▏  99 % · finishing") && !bar.contains("100 %"), "{bar}");
    }

    #[test]
    fn one_bar_spans_a_map_and_the_trials_after_it() {
        let mut out = Vec::new();
        let mut progress = progress(2, TERMINAL, &mut out, || Duration::ZERO).then(Duration::from_secs(10));
        let mut shown = Vec::new();
        let mut at = |commit: &Commit, share: f64, left: f64| {
            progress.event(Event::Committed { slot: commit, progress: share, left: Picos::from_secs(left) });
            shown.push((100.0 * progress.share).round());
        };
        at(&commit(0, 20.0), 0.5, 5.0);
        at(&commit(0, 20.0), 1.0, 0.0);
        let refused = coretalk_model::TrialFailure::from_reason("no".to_owned());
        let entry = SeriesEntry { segment: 0, pass: 0, trial: 0, outcome: Err(refused) };
        let trials = Commit { passes: vec![entry], ..Commit::default() };
        at(&trials, 0.2, 8.0);
        at(&trials, 1.0, 0.0);
        assert_eq!(shown, [25.0, 33.0, 47.0, 99.0]);
    }

    #[test]
    fn the_only_pair_has_a_provisional_number_and_a_strip() {
        let mut out = Vec::new();
        let now = Cell::new(Duration::ZERO);
        let mut progress = progress(2, TERMINAL, &mut out, || now.get());
        progress.event(Event::Phase { purpose: Purpose::Map });
        for second in 0..20 {
            now.set(Duration::from_secs(second));
            let commit = commit(0, if second < 10 { 20.0 } else { 100.0 });
            progress.event(Event::Committed { slot: &commit, progress: 0.1, left: Picos::from_secs(9.0) });
        }
        let drawn = String::from_utf8(out).unwrap();
        let last = last_drawing(&drawn);
        assert!(last.contains("60.0 ns so far, at times 20.0 or 100 · Ctrl-C keeps it"), "{last}");
        assert!(last.contains("▁▁▁▁▁▁▁▁▁▁██████████  20.0 to 100 ns"), "{last}");
        assert!(last.contains("watching CPUs 0 and 1"), "{last}");
        let first = drawn.split("\x1b[J").find(|drawn| drawn.contains("so far")).unwrap();
        assert!(first.contains("20.0 ±0.0 ns so far, one level · Ctrl-C keeps it"), "{first}");
    }

    #[test]
    fn a_terminal_shows_the_map_filling_in_place() {
        let drawn = drawn_at(TERMINAL, &[0, 1, 2]);
        let last = last_drawing(&drawn);
        assert!(["20", "21", "22"].iter().all(|ns| last.contains(ns)), "{last}");
        assert!(drawn.contains('·'), "cells not measured yet are marked:\n{drawn}");
        assert_eq!(drawn.matches("\x1b[5A").count(), 2, "{drawn:?}"); // heading, three rows, the bar
    }

    #[test]
    fn a_map_that_would_scroll_leaves_only_the_bar() {
        assert_eq!(drawn_at(Audience::Terminal { rows: 5 }, &[0]).lines().count(), 1);
    }
}
