//! [`RunReport`]: one run with everything that output needs; [`RunHeader`]: what a run is called and how it went.

pub mod map;
pub mod out;
pub mod outputs;
mod part;
pub mod placement;
pub mod resume;
pub mod saved;
pub mod segment;
pub mod settings_text;
pub mod short;
pub mod signals;
pub mod trial_outputs;
pub mod trials;
pub mod watcher;

use crate::store::{fresh_id, now};
use coretalk_model::latency::{LatencyResult, LatencySettings};
use coretalk_model::place::{PlaceResult, PlaceSettings};
use coretalk_model::series::{Gathering, SeriesResult, SeriesSettings, rungs};
use coretalk_model::{Departure, Environment, Finding, Picos, Topology};

/// What a run is called, how it came to be and how it ended.
#[derive(Debug, Clone, PartialEq)]
pub struct RunHeader {
    /// UUID v7, so that ids sort by time.
    pub id: String,
    /// RFC 3339, UTC.
    pub started: String,
    /// The command line without private parts, program name left out (`["latency", "--cpus", "0,1"]`).
    pub command: Vec<String>,
    /// Every random choice comes from it.
    pub seed: u64,
    /// Whether the machine was simulated.
    pub simulated: bool,
    /// Every planned trial has an outcome, or the budget ended.
    pub complete: bool,
    /// CPUs that went away while its last segment was measured, in the order in which they were missed.
    pub departed: Vec<Departure>,
    /// Names given by the user.
    pub tags: Vec<String>,
    /// Segments: 1, and one more for each resumption.
    pub segments: u32,
    /// Version of the tool that measured.
    pub tool_version: String,
}

impl RunHeader {
    /// A run that begins now.
    pub fn new(command: Vec<String>, seed: u64) -> RunHeader {
        RunHeader {
            id: fresh_id(),
            started: now(),
            command,
            seed,
            simulated: false,
            complete: false,
            departed: Vec::new(),
            tags: Vec::new(),
            segments: 1,
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// One run with everything that output needs: assembled after measuring, or from a run file.
#[derive(Debug, Clone, PartialEq)]
pub struct RunReport {
    /// What it is called.
    pub header: RunHeader,
    /// What it was measured under.
    pub environment: Environment,
    /// What `doctor` said.
    pub findings: Vec<Finding>,
    /// What the machine reported of its structure.
    pub topology: Topology,
    /// What was asked.
    pub settings: LatencySettings,
    /// What came out.
    pub result: LatencyResult,
    /// Series, where they were asked for.
    pub series: Option<SeriesReport>,
    /// Placements against each other, where that was asked for.
    pub place: Option<PlaceReport>,
}

impl RunReport {
    /// Adds the columns of the ladder that are trials: of a run that has both a ladder and such trials.
    pub fn complete_the_ladder(&mut self) {
        if let Some(series) = self.series.as_ref().filter(|_| self.settings.ladder) {
            self.result.ladder.extend(rungs(
                &self.topology,
                &series.settings,
                &series.result,
                self.result.maps.first(),
            ));
        }
    }

    /// The budget that was asked for: a map and the trials beside it have a part of it each.
    pub fn budget(&self) -> Picos {
        let map = self.settings.budget;
        match &self.series {
            Some(series) if self.settings.ask_for_nothing() => series.settings.budget,
            Some(series) => series.settings.budget + map,
            None => map,
        }
    }

    /// Why it holds several probes; `None` where it holds one.
    pub fn gathering(&self) -> Option<Gathering> {
        self.series.as_ref()?.settings.gathering()
    }
}

/// The comparisons of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct PlaceReport {
    /// What was asked.
    pub settings: PlaceSettings,
    /// What came out.
    pub result: PlaceResult,
}

/// The series of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesReport {
    /// What was asked.
    pub settings: SeriesSettings,
    /// What came out.
    pub result: SeriesResult,
}
