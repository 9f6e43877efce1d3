//! What a run is about to do, in a sentence: the settings that `--verbose` tells.

use crate::report::text::percent;
use coretalk_model::latency::{
    Counts, HintChoice, HomeSetting, LatencySettings, PairChoice, Parallel, Spacing,
};
use coretalk_model::series::SeriesSettings;
use coretalk_model::{CpuId, CpuSet};

/// The settings of a latency map.
pub fn settings_of_map(settings: &LatencySettings) -> String {
    let pairs = match &settings.pairs {
        PairChoice::All => "all pairs".to_owned(),
        PairChoice::Representatives => "a few pairs of each relation".to_owned(),
        PairChoice::Siblings => "SMT siblings".to_owned(),
        PairChoice::Listed(pairs) if pairs.is_empty() => "no pairs".to_owned(),
        PairChoice::Listed(pairs) => {
            let pairs: Vec<String> = pairs.iter().map(|[from, to]| format!("{from}-{to}")).collect();
            format!("pairs {}", pairs.join(","))
        }
    };
    let mut parts = vec![on(&settings.cpus), pairs];
    if settings.imitate.is_empty() {
        let protocols: Vec<&str> = settings.protocols.iter().map(|protocol| protocol.name()).collect();
        parts.extend((!protocols.is_empty()).then(|| format!("protocol {}", protocols.join(", "))));
    } else {
        let tools: Vec<&str> = settings.imitate.iter().map(|tool| tool.name()).collect();
        parts.push(format!("as {}", tools.join(", ")));
    }
    parts.push(match settings.hint {
        HintChoice::Auto => "wait hint chosen by a pilot".to_owned(),
        HintChoice::None => "no wait hint".to_owned(),
        HintChoice::Pause => "wait hint pause".to_owned(),
    });
    parts.push(match settings.home {
        HomeSetting::Auto => "lines on the NUMA node of each side".to_owned(),
        HomeSetting::Node(home) => format!("lines on NUMA node {}", home.0),
    });
    parts.push(match settings.lines {
        None => "lines per visit by machine size".to_owned(),
        Some(lines) => format!("{lines} lines per visit"),
    });
    parts.push(match settings.counts {
        Counts::Adaptive => until(settings.precision),
        Counts::Fixed { samples, iterations } => format!("{samples} samples of {iterations} round trips"),
    });
    parts.push(match settings.parallel {
        Parallel::Auto => "pairs in parallel if one at a time takes too long".to_owned(),
        Parallel::AtMost(1) => "one pair at a time".to_owned(),
        Parallel::AtMost(pairs) => format!("at most {pairs} pairs in parallel"),
    });
    parts.extend((settings.spacing == Spacing::Watch).then(|| "passes spread over the budget".to_owned()));
    parts.extend(settings.tails.map(|tails| format!("tails at {} messages/s", tails.rate_per_s)));
    parts.extend(settings.ladder.then(|| "ladder".to_owned()));
    parts.extend(settings.keep_raw.then(|| "raw ticks kept".to_owned()));
    sentence(&parts)
}

/// The settings of trials.
pub fn settings_of_trials(settings: &SeriesSettings) -> String {
    let mut parts = vec![on(&settings.cpus), format!("trials of {}", settings.probes.join(", "))];
    parts
        .extend(settings.options.0.iter().map(|(name, value)| format!("{} {value}", name.replace('_', " "))));
    let headlines: Vec<String> = settings.headlines.iter().map(ToString::to_string).collect();
    parts.extend((!headlines.is_empty()).then(|| format!("judged by {}", headlines.join(", "))));
    parts.push(until(settings.precision));
    sentence(&parts)
}

fn on(cpus: &[CpuId]) -> String {
    cpus.iter().copied().collect::<CpuSet>().named()
}

fn until(precision: f64) -> String {
    format!("until intervals reach ±{}", percent(precision))
}

fn sentence(parts: &[String]) -> String {
    format!("settings: {}", parts.join("; "))
}
