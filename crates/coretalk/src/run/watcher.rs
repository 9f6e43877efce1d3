//! [`Watcher`]: reports the progress of a run on standard error and as JSON lines.

use crate::exit::Failure;
use crate::resolve::output::{self, OutputOptions, Verbosity, print_notice};
use crate::run::out::Out;
use crate::run::progress::{Audience, Progress};
use crate::terminal;
use coretalk_measure::Stop;
use coretalk_measure::session::{Commit, Event, Observer};
use coretalk_model::latency::cells;
use coretalk_model::place::PlaceSettings;
use coretalk_model::run::RunSettings;
use coretalk_model::series::TrialSpec;
use coretalk_model::{CpuId, CpuLoss, Topology};
use coretalk_report::document::{pass_line, trial_line};
use coretalk_report::text;
use std::io::{self, IsTerminal, Stderr};
use std::time::{Duration, Instant};

type Clock = Box<dyn FnMut() -> Duration>;

/// Facts about a measurement that progress and JSON lines need before it begins.
#[derive(Debug, Clone, Default)]
pub struct Watched {
    cpus: Vec<CpuId>,
    cells: Vec<[CpuId; 2]>,
    trials: Vec<TrialSpec>,
    /// Expected duration of the trials after a map.
    later: Duration,
}

impl Watched {
    /// Collects the facts from the settings.
    pub fn new(topology: &Topology, settings: RunSettings<'_>) -> Watched {
        let placed = settings.place.map(PlaceSettings::to_series);
        let series = settings.series.or(placed.as_ref());
        let cpus = settings.latency.map(|latency| &latency.cpus).or(series.map(|series| &series.cpus));
        Watched {
            cpus: cpus.cloned().unwrap_or_default(),
            cells: settings.latency.map_or_else(Vec::new, |latency| cells(topology, latency)),
            trials: series.map_or_else(Vec::new, |series| series.trials.clone()),
            later: Duration::ZERO,
        }
    }

    /// Adds the expected duration of the trials after the map.
    pub fn then(self, later: Duration) -> Watched {
        Watched { later, ..self }
    }
}

/// Draws progress and streams JSON lines. Works only at commits, when no CPU measures.
pub struct Watcher<'a> {
    progress: Option<Progress<Stderr, Clock>>,
    lines: Vec<&'a mut Out>,
    cells: Vec<[CpuId; 2]>,
    trials: Vec<TrialSpec>,
    segment: u32,
    verbosity: Verbosity,
    stop: Stop,
    failure: Option<Failure>,
    departed: Vec<CpuLoss>,
}

impl<'a> Watcher<'a> {
    /// Watches one segment of a run. `lines` are the outputs for JSON lines.
    pub fn new(
        options: &OutputOptions,
        topology: &Topology,
        watched: Watched,
        segment: u32,
        lines: Vec<&'a mut Out>,
        stop: &Stop,
    ) -> Watcher<'a> {
        let Watched { cpus, cells, trials, later } = watched;
        let began = Instant::now();
        let clock: Clock = Box::new(move || began.elapsed());
        let audience = match terminal::height() {
            Some(rows) if io::stderr().is_terminal() => Audience::Terminal { rows },
            _ => Audience::Log,
        };
        let style = output::progress_style(options);
        let progress = (options.verbosity > Verbosity::Quiet).then(|| {
            // A log shows no map and needs no cells. Half a million cells take 12 MB and two look-ups per visit.
            let is_drawn = matches!(audience, Audience::Terminal { .. });
            let (cpus, cells) = if is_drawn { (&cpus[..], cells.clone()) } else { (&[][..], Vec::new()) };
            Progress::new(io::stderr(), clock, audience, style, topology.clone(), cpus, cells)
                .then(later)
                .of_probes(trials.iter().map(|trial| trial.probe.clone()).collect())
        });
        Watcher {
            progress,
            cells: if lines.is_empty() { Vec::new() } else { cells },
            lines,
            trials,
            segment,
            verbosity: options.verbosity,
            stop: stop.clone(),
            failure: None,
            departed: Vec::new(),
        }
    }

    /// Returns the CPUs lost so far.
    pub fn departed(&self) -> &[CpuLoss] {
        &self.departed
    }

    /// Clears the progress from the terminal and returns the lost CPUs. The error is that of writing JSON lines.
    pub fn end(mut self) -> Result<Vec<CpuLoss>, Failure> {
        if let Some(progress) = &mut self.progress {
            progress.clear();
        }
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok(self.departed),
        }
    }

    fn stream(&mut self, commit: &Commit) -> Result<(), Failure> {
        let (cells, trials, segment) = (&self.cells, &self.trials, self.segment);
        for out in &mut self.lines {
            out.stream(|out| {
                for round in &commit.rounds {
                    for trial in &round.trials {
                        writeln!(out, "{}", trial_line(round, trial, segment, cells)?)?;
                    }
                }
                for entry in &commit.passes {
                    writeln!(out, "{}", pass_line(entry, trials)?)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

impl Observer for Watcher<'_> {
    fn event(&mut self, event: Event<'_>) {
        let streamed = match (&event, &self.failure) {
            (Event::Committed { slot, .. }, None) => self.stream(slot),
            _ => Ok(()),
        };
        if let Err(failure) = streamed {
            // The reader is gone or the disk is full, so the run stops.
            self.failure = Some(failure);
            self.stop.raise();
        }
        if let Event::Departed { departure, .. } = event {
            // A later event about the same CPU replaces the earlier one.
            match self.departed.iter_mut().find(|known| known.cpu == departure.cpu) {
                Some(known) => *known = departure,
                None => self.departed.push(departure),
            }
        }
        if let (Event::Phase { purpose }, Verbosity::Verbose) = (&event, self.verbosity) {
            print_notice(
                self.verbosity,
                Verbosity::Verbose,
                &text::plain(&format!("phase: {}", purpose.name())),
            );
        }
        if let Some(progress) = &mut self.progress {
            progress.event(event);
        }
    }
}
