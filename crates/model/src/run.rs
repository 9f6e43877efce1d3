//! [`RunReport`]: a run with all data for output. [`RunHeader`]: names, origin and state of a run.

use crate::latency::{Imitated, LatencyMap, LatencyResult, LatencySettings, LeftOut, StateWatch, cells};
use crate::place::{PlaceResult, PlaceSettings};
use crate::probes::Glossary;
use crate::series::{Gathering, LoadCurve, SeriesResult, SeriesSettings, rungs};
use crate::{CpuId, CpuLoss, CpuSet, DoctorFinding, Environment, Picos, Reason, Topology};

/// Names, origin and state of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunHeader {
    /// UUID v7, so that ids sort by time.
    pub id: String,
    /// Start time, RFC 3339 in UTC.
    pub started: String,
    /// Command line as typed without the program name (`["latency", "--cpus", "0,1"]`). May hold private parts.
    pub command: Vec<String>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Whether the machine was simulated.
    pub simulated: bool,
    /// Whether every planned trial has an outcome, or the budget ended.
    pub complete: bool,
    /// CPUs lost during the last segment, in the order of detection.
    pub departed: Vec<CpuLoss>,
    /// Tags given by the user.
    pub tags: Vec<String>,
    /// Number of segments: 1, and one more for each resumption.
    pub segments: u32,
    /// Version of the tool that measured.
    pub tool_version: String,
}

/// A run with all data for output, from a measurement or from a run file.
#[derive(Debug, Clone)]
pub struct RunReport {
    /// Names and state.
    pub header: RunHeader,
    /// Environment of the measurement.
    pub environment: Environment,
    /// Findings of `doctor`.
    pub doctor: Vec<DoctorFinding>,
    /// Reported topology.
    pub topology: Topology,
    /// Latency between CPUs, if requested.
    pub latency: Option<LatencyReport>,
    /// Series, if requested.
    pub series: Option<SeriesReport>,
    /// Comparison of placements, if requested.
    pub place: Option<PlaceReport>,
}

impl RunReport {
    /// Adds the columns of the ladder that come from trials, if the run has both a ladder and such trials.
    pub fn complete_the_ladder(&mut self) {
        let (Some(latency), Some(series)) = (&mut self.latency, &self.series) else { return };
        if latency.settings.ladder {
            let first = latency.result.maps.first();
            let rungs = rungs(&self.topology, &series.settings, &series.result, first);
            latency.result.ladder.extend(rungs);
        }
    }

    /// Adds the output of measured programs, which may be private, to the reasons of trials.
    pub fn reveal(&mut self) {
        let trials = self.series.iter_mut().flat_map(|series| &mut series.result.trials);
        trials.filter_map(|trial| trial.reason.as_mut()).for_each(Reason::reveal);
    }

    /// Returns the results of the latency measurement, if requested.
    pub fn latencies(&self) -> Option<&LatencyResult> {
        self.latency.as_ref().map(|latency| &latency.result)
    }

    /// Returns the maps, one per protocol; empty if none was requested.
    pub fn maps(&self) -> &[LatencyMap] {
        self.latencies().map_or(&[], |result| &result.maps)
    }

    /// Returns the results of imitated tools; empty if none was requested.
    pub fn imitated(&self) -> &[Imitated] {
        self.latencies().map_or(&[], |result| &result.imitated)
    }

    /// Returns the observed changes of values, if any.
    pub fn watch(&self) -> Option<&StateWatch> {
        self.latencies()?.watch.as_ref()
    }

    /// Returns the requested CPUs, in matrix order.
    pub fn cpus(&self) -> Vec<CpuId> {
        let latency = self.latency.as_ref().map(|latency| &latency.settings.cpus);
        let requested = latency.or(self.series.as_ref().map(|series| &series.settings.cpus)).cloned();
        let placed = || self.place.as_ref().map(|place| place.settings.to_series().cpus);
        requested.or_else(placed).unwrap_or_default()
    }

    /// Returns the requested budget, which a map and its accompanying trials share.
    pub fn budget(&self) -> Picos {
        let latency = self.latency.as_ref().map(|latency| &latency.settings);
        let series = self.series.as_ref().map(|series| &series.settings);
        let place = self.place.as_ref().map(|place| &place.settings);
        RunSettings { latency, series, place }.budget()
    }

    /// Returns the parts for which the budget left no time.
    pub fn left_out(&self) -> Vec<LeftOut> {
        let of_latency = |latency: &LatencyReport| {
            latency.result.left_out(&latency.settings, &cells(&self.topology, &latency.settings))
        };
        let mut left_out: Vec<LeftOut> = self.latency.as_ref().map(of_latency).unwrap_or_default();
        let trials = self.series.as_ref().map_or(0, |series| series.result.left_out());
        left_out.extend((trials > 0).then_some(LeftOut::Trials(trials)));
        left_out
    }

    /// Returns why the run has several probes; `None` for a single probe.
    pub fn gathering(&self) -> Option<Gathering> {
        self.series.as_ref()?.settings.gathering()
    }
}

/// Settings of the parts of a run: at most one part of each kind, and at least one part.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunSettings<'a> {
    /// Latency between CPUs.
    pub latency: Option<&'a LatencySettings>,
    /// Series of trials.
    pub series: Option<&'a SeriesSettings>,
    /// Comparison of placements.
    pub place: Option<&'a PlaceSettings>,
}

impl RunSettings<'_> {
    /// Whether there are trials, of series or of placements.
    pub fn has_trials(&self) -> bool {
        self.series.is_some() || self.place.is_some()
    }

    /// Returns the sum of all budgets.
    pub fn budget(&self) -> Picos {
        let latency = self.latency.map(|settings| settings.budget);
        let series = self.series.map(|settings| settings.budget);
        let place = self.place.map(|settings| settings.budget);
        [latency, series, place].into_iter().flatten().fold(Picos::ZERO, |sum, part| sum + part)
    }

    /// Returns all measured CPUs.
    pub fn cpus(&self) -> CpuSet {
        let latency = self.latency.iter().flat_map(|settings| settings.cpus.clone());
        let series = self.series.iter().flat_map(|settings| settings.cpus.clone());
        let place = self.place.iter().flat_map(|settings| settings.to_series().cpus);
        latency.chain(series).chain(place).collect()
    }

    /// Returns the seed of every random choice.
    pub fn seed(&self) -> u64 {
        let latency = self.latency.map(|settings| settings.seed);
        let series = || self.series.map(|settings| settings.seed);
        latency.or_else(series).or_else(|| self.place.map(|settings| settings.seed)).unwrap_or_default()
    }
}

/// Latency between the CPUs of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyReport {
    /// Settings.
    pub settings: LatencySettings,
    /// Results.
    pub result: LatencyResult,
}

/// Comparisons of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct PlaceReport {
    /// Settings.
    pub settings: PlaceSettings,
    /// Results.
    pub result: PlaceResult,
}

/// Series of a run.
#[derive(Debug, Clone)]
pub struct SeriesReport {
    /// Settings.
    pub settings: SeriesSettings,
    /// Results.
    pub result: SeriesResult,
    /// Explanations of names in the trials.
    pub glossary: Glossary,
}

impl SeriesReport {
    /// Returns the load of each CPU by the measured threads, only for runs of `queue`.
    pub fn load_of_queues(&self) -> Option<&LoadCurve> {
        let of_queues = self.settings.probes == [crate::queue::names::PROBE];
        self.result.load.as_ref().filter(|_| of_queues)
    }
}
