//! What is wrong with a typed number: its source in the JSON document of the same run says something else, its text reads
//! as another number, or no heading states its unit.

use super::fields::{
    contradicted_share, field_of, is_in_own_unit, is_in_percent, is_scaled, path_of, raw, share_of,
};
use super::maps::{of_cell, of_matrix, of_widths, pairs_recomputed};
use super::place;
use super::run::{Run, cpus, ends_of, list};
use super::structure::unit_of_another;
use super::texts::{misread, unstated};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coretalk::blocks::value::{
    DisplayUnit, DisplayValue, MapSource, ModePart, Number, SeriesNumber, Source, Statistic, TailNumber,
    WatchNumber,
};
use coretalk_model::CpuId;
use coretalk_model::histogram::Histogram;
use coretalk_model::place::MIN_EFFECT;
use coretalk_model::quantity::Unit;
use coretalk_model::series::summary::modes;
use coretalk_model::series::{Parameters, TrialId, TrialSpec};
use coretalk_model::stats::{Estimate, median};
use hdrhistogram::serialization::Deserializer;
use serde_json::Value;
use std::collections::BTreeSet;

/// Documents round to four decimals.
pub const ROUNDED: f64 = 1e-4;

pub fn parameters_of(series: &Value) -> Parameters {
    let of = &series["parameters"];
    // Which of two alternating ways of waiting a distribution is of, is its view, too.
    parameters_with(series, |name| name != "view" && (name != "phase" || of["view"] != of["phase"]))
}

/// Those parameters of a trial whose name is asked for.
pub fn parameters_with(series: &Value, is_meant: impl Fn(&str) -> bool) -> Parameters {
    let parameters = series["parameters"].as_object().into_iter().flatten();
    parameters.filter(|(name, _)| is_meant(name)).fold(
        Parameters::default(),
        |all, (name, value)| match value.as_f64() {
            Some(number) => all.with(name, number),
            None => all.with(name, value.as_str().unwrap()),
        },
    )
}

/// The trial that a distribution of a document belongs to.
pub fn trial_of(series: &Value) -> TrialId {
    let probe = series["probe"].as_str().unwrap().to_owned();
    TrialSpec { probe, parameters: parameters_of(series), placement: cpus(&series["placement"]) }.id()
}

pub fn is_near(one: f64, other: f64) -> bool {
    (one - other).abs() <= ROUNDED * one.abs().max(1.0)
}

/// Whether a document has these ends of an interval, or none where too few passes give none, which reads `?`.
fn is_interval(ends: [Option<f64>; 2], of: &Estimate) -> bool {
    match ends {
        [Some(low), Some(high)] => is_near(low, of.low) && is_near(high, of.high),
        _ => !of.is_sure() || !of.reach().is_finite(),
    }
}

/// The cells of the maps of queues, each with its trial.
pub fn cells_of_queues(run: &Run) -> Vec<(TrialId, &Value, &Value)> {
    let queues = list(&run.document["matrices"]).iter().filter(|matrix| matrix["probe"] == "queue");
    let with_trial = |matrix, cell: &'_ Value| {
        let of: &Value = matrix;
        let placement = serde_json::json!([cell["from"], cell["to"]]);
        trial_of(&serde_json::json!({
            "probe": "queue", "parameters": of["parameters"], "placement": placement
        }))
    };
    let cells = queues.flat_map(|matrix| list(&matrix["cells"]).iter().map(move |cell| (matrix, cell)));
    cells.map(|(matrix, cell)| (with_trial(matrix, cell), matrix, cell)).collect()
}

/// The cell of a trial in the maps of queues.
pub fn queue_cell(run: &Run, trial: TrialId) -> Option<&Value> {
    cells_of_queues(run).into_iter().find(|(of, ..)| *of == trial).map(|(.., cell)| cell)
}

/// The number of a trial in one state, and the interval of what it is shown by.
fn state_of<'a>(run: &'a Run, source: &Source) -> Option<(Option<f64>, &'a Value)> {
    let Source::State { trial, index, of, quantity } = source else { return None };
    let series = list(&run.document["series"]).iter().filter(|one| trial_of(one) == *trial);
    let is_view = |one: &&Value| one["parameters"]["view"] == **quantity;
    let one =
        series.clone().find(is_view).or_else(|| series.clone().next()).or_else(|| queue_cell(run, *trial))?;
    let state = &one["states"][*index];
    let value = &state["values"][quantity];
    Some(match *of {
        "share" => (state["share"].as_f64(), &Value::Null),
        _ if !is_view(&one) && one["from"].is_null() && value.is_number() => (value.as_f64(), &Value::Null),
        _ => (state["median"].as_f64(), &state["ci"]),
    })
}

/// The median rate of a cell, or an end of its interval.
fn of_rate(cell: &Value, statistic: Statistic) -> Option<f64> {
    match statistic {
        Statistic::Low => cell["ci"][0].as_f64(),
        Statistic::High => cell["ci"][1].as_f64(),
        _ => cell["median"].as_f64(),
    }
}

/// A number of a distribution, and its interval.
fn of_series<'a>(run: &'a Run, index: usize, number: &SeriesNumber) -> [&'a Value; 2] {
    let one = &run.document["series"][index];
    match number {
        SeriesNumber::Events => [&one["count"], &Value::Null],
        SeriesNumber::Percentile("50") => [&one["percentiles"]["50"], &one["intervals"]["median_ns"]],
        SeriesNumber::Percentile(name) => [&one["percentiles"][name], &Value::Null],
        SeriesNumber::Value(name) => [&one["values"][name], &one["intervals"][name]],
        SeriesNumber::Count(name) => [&one["counts"][name], &Value::Null],
        SeriesNumber::Parameter(name) => [&one["parameters"][name], &Value::Null],
    }
}

fn is_symmetric(run: &Run, kernel: &str) -> bool {
    list(&run.document["matrices"]).iter().any(|of| of["kernel"] == kernel && of["symmetric"] == true)
}

/// The distribution of a series.
fn histogram(series: &Value) -> Option<Histogram> {
    let bytes = STANDARD.decode(series["histogram_v2_base64"].as_str()?).ok()?;
    let read: hdrhistogram::Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).ok()?;
    let mut histogram = Histogram::new();
    read.iter_recorded().for_each(|step| histogram.record(step.value_iterated_to(), step.count_at_value()));
    Some(histogram)
}

/// The number of a source, from the document alone: of a map from the cells of its matrix and the topology.
pub fn recomputed(run: &Run, source: &Source) -> Option<f64> {
    let all = || list(&run.document["series"]).iter();
    match source {
        Source::Ratio(one, other) => Some(recomputed(run, one)? / recomputed(run, other)?),
        Source::Product(one, other) => Some(recomputed(run, one)? * recomputed(run, other)?),
        Source::Less(one, other) => Some(recomputed(run, one)? - recomputed(run, other)?),
        Source::Constant(factor) => Some(*factor),
        Source::Placement { cpus, number } => place::number(run, raw(run, cpus)?, number),
        Source::Option(option) => {
            let asked = run.option(option).map(|text| text.trim_end_matches('s').parse().ok());
            asked.unwrap_or((*option == "min-effect").then_some(MIN_EFFECT))
        }
        Source::Differing { matrix, key, value } => {
            let is_one = |row: &&Value| {
                let is_of = matrix.as_ref().is_none_or(|matrix| row["matrix"] == **matrix);
                is_of && row["cell"].is_array() && row[key].to_string().trim_matches('"') == *value
            };
            Some(list(&run.document["differences"]).iter().filter(is_one).count() as f64)
        }
        Source::Precision => run
            .option("precision")
            .map_or(Some(0.02), |text| Some(text.trim_end_matches('%').parse::<f64>().ok()? / 100.0)),
        Source::Spin { placement, key, end } => {
            let cpus = serde_json::json!(placement.iter().map(|cpu| cpu.0).collect::<Vec<u32>>());
            let mut advice = list(&run.document["advice"]).iter();
            let found = advice.find(|one| one["kind"] == "spin" && one["placement"] == cpus)?;
            end.map_or(&found[*key], |end| &found[*key][end]).as_f64()
        }
        Source::State { .. } => state_of(run, source)?.0,
        Source::Trials { probe, changed } => {
            let series = all().filter(|one| one["probe"] == **probe).map(|one| (trial_of(one), one));
            let cells = cells_of_queues(run).into_iter().filter(|_| probe == "queue");
            let of_probe = series.chain(cells.map(|(trial, _, cell)| (trial, cell)));
            let counted = of_probe.filter(|(_, one)| !changed || !list(&one["states"]).is_empty());
            Some(counted.map(|(trial, _)| trial).collect::<BTreeSet<_>>().len() as f64)
        }
        Source::Sum(parts) => parts.iter().map(|part| recomputed(run, part)).sum(),
        // The rate of a cell of a map of queues.
        Source::Trial { trial, quantity: "messages_per_s", statistic, .. }
            if !all().any(|one| trial_of(one) == *trial) =>
        {
            of_rate(queue_cell(run, *trial)?, *statistic)
        }
        Source::Trial { trial, quantity, statistic, .. } => {
            let of_trial = || all().filter(|one| trial_of(one) == *trial);
            let view = of_trial().find(|one| one["parameters"]["view"] == **quantity);
            // Numbers of a trial are with its first distribution.
            let with = |key: &str| of_trial().map(|one| &one[key][*quantity]).find(|found| !found.is_null());
            let end = |at: usize| match view {
                Some(view) => view["intervals"]["median_ns"][at].as_f64(),
                None => with("intervals")?[at].as_f64(),
            };
            match (statistic, view) {
                (Statistic::Count, Some(view)) => view["count"].as_f64(),
                (Statistic::Count, None) => with("counts")?.as_f64(),
                (Statistic::Mean, view) => view?["mean"].as_f64(),
                (Statistic::Percentile(share), view) => {
                    view?["percentiles"][((share * 1e4).round() / 100.0).to_string()].as_f64()
                }
                (Statistic::Estimate, _) => with("values")?.as_f64(),
                (Statistic::Low, _) => end(0),
                (Statistic::High, _) => end(1),
            }
        }
        Source::Role { trial, role, quantity } => {
            let mut of_trial = all().filter(|one| trial_of(one) == *trial);
            of_trial.find_map(|one| one["of_roles"][*role]["values"][*quantity].as_f64())
        }
        Source::QueueCell { trial, key } => {
            queue_cell(run, *trial)?.pointer(&format!("/{}", key.replace('.', "/")))?.as_f64()
        }
        Source::Rates { queue, payload, capacity, relation, statistic } => {
            let is_one = |(_, matrix, cell): &&(TrialId, &Value, &Value)| {
                let of = &matrix["parameters"];
                let [from, to] = ends_of(cell);
                of["queue"] == **queue
                    && of["payload"] == **payload
                    && of["capacity"].as_f64() == Some(*capacity as f64)
                    && run.reported.relation(from, to) == *relation
            };
            let cells = cells_of_queues(run);
            let cells: Vec<&Value> = cells.iter().filter(is_one).map(|(.., cell)| *cell).collect();
            let is_of_pair = |cell: &&&Value| {
                !list(&cell["flags"]).iter().any(|flag| flag == "shared-spin" || flag == "unclaimed")
            };
            let rates = cells.iter().filter(is_of_pair).filter_map(|cell| of_rate(cell, *statistic));
            match statistic {
                Statistic::Count => Some(cells.len() as f64),
                _ => median(&rates.collect::<Vec<_>>()),
            }
        }
        Source::Pairs { map, relation, classes, statistic } => {
            let class = |cpu| run.reported.class_of(CpuId(cpu)).map(|class| class.name.clone());
            let is_inside = |([from, to], ..): &([u32; 2], f64, bool)| {
                let kinds = [class(*from), class(*to)];
                let is_kind = |[one, other]: &[String; 2]| {
                    let [one, other] = [Some(one.clone()), Some(other.clone())];
                    kinds == [one.clone(), other.clone()] || kinds == [other, one]
                };
                run.reported.relation(CpuId(*from), CpuId(*to)) == *relation
                    && classes.as_ref().is_none_or(is_kind)
            };
            let pairs = pairs_recomputed(run, map).into_iter().filter(is_inside);
            // A symmetric map has each pair in both directions.
            let is_once = |([from, to], ..): &([u32; 2], f64, bool)| match map {
                MapSource::Kernel(kernel) => from < to || from != to && !is_symmetric(run, kernel),
                _ => true,
            };
            let mut values: Vec<f64> = pairs.filter(is_once).map(|(_, number, _)| number).collect();
            values.sort_by(f64::total_cmp);
            match *statistic {
                Statistic::Count => Some(values.len() as f64),
                Statistic::Percentile(0.0) => values.first().copied(),
                Statistic::Percentile(1.0) => values.last().copied(),
                _ => median(&values),
            }
        }
        Source::Wide { map, number } => of_widths(run, map, *number),
        Source::AllTrials => {
            let of_series = all().map(trial_of);
            let of_queues = cells_of_queues(run).into_iter().map(|(trial, ..)| trial);
            Some(of_series.chain(of_queues).collect::<BTreeSet<_>>().len() as f64)
        }
        Source::Width(trial) => {
            let cells = cells_of_queues(run).into_iter().map(|(of, _, cell)| (of, cell));
            let mut every = all().map(|one| (trial_of(one), one)).chain(cells);
            let reason =
                every.find(|(of, one)| of == trial && one["reason"].is_string())?.1["reason"].as_str()?;
            // Reasons have three digits; an interval that is wider than its value has no number there.
            reason.strip_prefix("± ").map_or(Some(f64::INFINITY), |text| text.split(' ').next()?.parse().ok())
        }
        Source::Mode { trial, view, index, part } => {
            let of = all().find(|one| trial_of(one) == *trial && one["parameters"]["view"] == **view)?;
            let mode = modes(&histogram(of)?).get(*index).copied()?;
            Some(if *part == ModePart::Share { mode.share } else { mode.median_ns })
        }
        Source::MeanOf(paths) => {
            let lists = paths.iter().map(|path| list(run.document.pointer(path).unwrap_or(&Value::Null)));
            let shares: Option<Vec<f64>> = lists.flatten().map(Value::as_f64).collect();
            let shares = shares?;
            Some(shares.iter().sum::<f64>() / shares.len() as f64)
        }
        Source::Entered { gap_ns, kept_out, state } => {
            let is_of = |one: &&Value| {
                one["parameters"]["gap_ns"].as_f64() == Some(*gap_ns as f64)
                    && one["parameters"]["idle_states"].is_string() == *kept_out
            };
            let sum =
                |name: &str| all().filter(is_of).filter_map(|one| one["counts"][name].as_f64()).sum::<f64>();
            Some(sum(&format!("idle_{state}")) / sum("samples"))
        }
        Source::Tail { pair, number } => {
            let is_of_pair = |one: &&Value| {
                one["placement"] == serde_json::json!(pair.map(|cpu| cpu.0))
                    && one["parameters"]["view"] == "closed-loop"
            };
            let one = run.document["series"].as_array()?.iter().find(is_of_pair)?;
            let events = one["count"].as_f64()?;
            match number {
                TailNumber::Events => Some(events),
                TailNumber::Beyond => Some(events - (0.999 * events - 1e-6).ceil()),
                TailNumber::NetP999 => one["values"]["net_p99_9"].as_f64(),
                TailNumber::NetMax => one["values"]["net_max"].as_f64(),
            }
        }
        Source::Watch(number) => {
            let states = run.document["watch"]["states"].as_array()?;
            let levels = || states.iter().filter_map(|state| state["kernels"][0]["median"].as_f64());
            match number {
                WatchNumber::Usual => levels().next(),
                WatchNumber::Share => states[0]["share"].as_f64(),
                WatchNumber::Slowest => levels().max_by(f64::total_cmp),
                WatchNumber::Fastest => levels().min_by(f64::total_cmp),
                WatchNumber::Changes => {
                    let visits = states.iter().filter_map(|state| state["visits"].as_f64());
                    Some(visits.sum::<f64>() - 1.0)
                }
                WatchNumber::Widest => {
                    let all = states.iter().flat_map(|state| list(&state["kernels"]));
                    let ratio = |of: &Value| {
                        let alike = all.clone().filter(|other| other["kernel"] == of["kernel"]);
                        let levels: Vec<f64> = alike.filter_map(|one| one["median"].as_f64()).collect();
                        let ends = [f64::max, f64::min].map(|end| levels.iter().copied().reduce(end));
                        Some(ends[0]? / ends[1]?)
                    };
                    list(&states[0]["kernels"]).iter().filter_map(ratio).max_by(f64::total_cmp)
                }
            }
        }
        Source::Field(_) | Source::Pair { .. } => field_of(run, source)?.0,
        Source::Series { index, number } => of_series(run, *index, number)[0].as_f64(),
        Source::Cell { .. } => of_cell(run, source).map(|(number, _)| number),
        Source::Matching { list: of, key, value } => {
            let items = list(run.document.pointer(of)?).iter();
            Some(items.filter(|item| item[*key] == *value).count() as f64)
        }
        Source::Groups(level, least) => {
            let measured = run.measured();
            let groups = run.reported.level(*level).into_iter();
            let here = groups.filter(|group| group.cpus.intersection(&measured).len() >= *least);
            Some(here.count() as f64)
        }
        Source::ReportedCpus => Some(run.reported.cpus().len() as f64),
        _ => None,
    }
}

/// The number that a value states, and its interval.
fn stated(number: Number) -> (f64, Option<Estimate>) {
    match number {
        Number::Count(number) | Number::Part { number, .. } => (number as f64, None),
        Number::Point(number)
        | Number::Setting(number)
        | Number::Short(number)
        | Number::Coarse(number)
        | Number::Duration(number)
        | Number::Figure(number)
        | Number::Probability(number)
        | Number::Difference(number)
        | Number::Relative(number) => (number, None),
        Number::HalfWidth { of, stated } => (stated, Some(of)),
        Number::Estimate(of)
        | Number::PlusMinus(of)
        | Number::Reach(of)
        | Number::WithEnds(of)
        | Number::Ends(of)
        | Number::Shift(of)
        | Number::Size(of) => (of.point, Some(of)),
    }
}

/// The interval of a source; `None` where documents hold none.
fn interval_of(run: &Run, source: &Source) -> Option<[Option<f64>; 2]> {
    let ends = |of: &Value| [of[0].as_f64(), of[1].as_f64()];
    Some(match source {
        Source::Field(_) | Source::Pair { .. } => field_of(run, source)?.1,
        Source::Series { index, number } => ends(of_series(run, *index, number)[1]),
        Source::QueueCell { trial, .. } => ends(&queue_cell(run, *trial)?["ci"]),
        Source::State { .. } => ends(Some(state_of(run, source)?.1).filter(|ci| !ci.is_null())?),
        &Source::Trial { trial, quantity, .. } => [Statistic::Low, Statistic::High]
            .map(|statistic| recomputed(run, &Source::Trial { trial, quantity, statistic, placements: 1 })),
        _ => [None, None],
    })
}

/// Whether trials or maps have this parameter.
fn is_parameter(run: &Run, of: Option<TrialId>, name: &str, found: f64) -> bool {
    let document = &run.document;
    let has = |one: &Value| one["parameters"][name].as_f64() == Some(found);
    let mut of_trial = list(&document["series"]).iter().filter(|one| of.is_none_or(|of| trial_of(one) == of));
    let mut of_cells = cells_of_queues(run).into_iter().filter(|(id, ..)| Some(*id) == of);
    // A verdict needs more runs than there are.
    let is_missing = |arm: &Value| found.fract() == 0.0 && (list(&arm["runs"]).len() as f64) < found;
    let mut compared = list(&document["comparisons"]).iter().flat_map(|one| list(&one["placements"]));
    of_trial.any(has)
        || of_cells.any(|(_, matrix, _)| has(matrix))
        || of.is_none() && list(&document["matrices"]).iter().any(has)
        || name == "least_repetitions" && compared.any(is_missing)
}

/// Whether a number is that of passes, where documents have that of all events.
pub fn is_of_passes(source: &Source) -> bool {
    let (Source::Cell { map, .. } | Source::Pairs { map, .. }) = source else {
        return matches!(source, Source::Mode { .. });
    };
    matches!(map, MapSource::Trials { .. })
}

/// What is wrong with a number, if its document says something else.
fn contradiction(run: &Run, value: &DisplayValue) -> Option<String> {
    if let Some(share) = share_of(run, &value.source) {
        return contradicted_share(share, value);
    }
    let (found, interval) = stated(value.number);
    let mut expected = match &value.source {
        Source::Listed | Source::Method | Source::Unrecorded | Source::Trial { placements: 2.., .. } => {
            return None;
        }
        // The budget of a map is a part of that of the run, and a run may measure fewer pairs at once than it may.
        Source::Option(name @ ("budget" | "parallel")) => {
            let mut pairs = list(&run.document["matrices"]).iter();
            let most = match *name {
                "parallel" => pairs.find_map(|of| of["parameters"]["parallel_pairs"].as_str()?.parse().ok()),
                _ => recomputed(run, &value.source),
            };
            return most.filter(|most| found > *most).map(|most| format!("at most {most} was asked for"));
        }
        Source::Parameter { trial, name } => {
            return (!is_parameter(run, *trial, name, found)).then(|| format!("no such {name}"));
        }
        Source::Matrix { kernel, number } => of_matrix(run, kernel, number, found),
        source => recomputed(run, source),
    };
    match (&value.source, value.number) {
        (Source::Ratio(..), Number::Relative(_)) => {
            expected = expected.map(|ratio| ratio - 1.0);
        }
        (&Source::Trial { trial, quantity, placements, .. }, Number::HalfWidth { .. }) => {
            let statistic = Statistic::Percentile(0.5);
            expected =
                recomputed(run, &Source::Trial { trial, quantity, statistic, placements }).or(expected);
        }
        // Of a median over passes documents have the interval.
        (Source::Trial { statistic: Statistic::Estimate, .. }, _) => {
            let is_inside = |of: &Estimate| (of.low..=of.high).contains(&of.point);
            expected = expected.or(interval.filter(is_inside).map(|of| of.point));
        }
        (Source::Placement { cpus, number }, Number::Part { of, .. })
            if !place::has_all(run, cpus, number, of) =>
        {
            return Some(format!("they are not {of}"));
        }
        (Source::Field(path), _) => {
            if !is_in_own_unit(path, value) {
                return Some("a number in another unit".to_owned());
            }
            // No more than all is kept.
            expected = expected.map(|kept| if path.contains("_kept/1") { kept.min(1.0) } else { kept });
        }
        _ => {}
    }
    let ends = interval_of(run, &value.source);
    if let (Source::Series { .. }, None, Some([Some(_), Some(_)])) = (&value.source, interval, ends) {
        return Some("a number without its interval".to_owned());
    }
    if interval.zip(ends).is_some_and(|(of, ends)| !is_interval(ends, &of)) {
        return Some(format!("the interval is {ends:?}"));
    }
    if let Source::Width(_) = value.source {
        let is_same = expected.is_some_and(|width| match width.is_finite() {
            true => (width - found).abs() <= 5e-3 * width,
            false => found > 100.0,
        });
        return (!is_same).then(|| format!("{expected:?}, not {found}"));
    }
    let is_same = |expected: f64| match value.number {
        Number::Count(_) | Number::Part { .. } => expected == found,
        _ if is_of_passes(&value.source) => (expected - found).abs() <= 0.01 * expected,
        // Fields are rounded to four decimals; other small numbers have significant digits instead, and quotients those of
        // two.
        _ if matches!(value.source, Source::Field(_)) && value.unit == DisplayUnit::Own(Unit::Share) => {
            let is_in_percent = path_of(&value.source).is_some_and(is_in_percent);
            (expected - found).abs() <= if is_in_percent { 0.51e-6 } else { 0.51e-4 }
        }
        Number::Difference(_) | Number::Relative(_) => is_near(expected, found),
        _ if value.unit == DisplayUnit::Own(Unit::Share) || expected.abs() < 0.1 => {
            (expected - found).abs() <= 2e-3 * f64::abs(expected)
        }
        // A factor scales what documents round.
        _ => is_near(expected, found) || is_scaled(&value.source, expected - found),
    };
    (!expected.filter(|number| number.is_finite()).is_some_and(is_same))
        .then(|| format!("{expected:?}, not {found}"))
}

/// What is wrong with a shown number, if anything.
pub fn wrong(run: &Run, (headings, value): &Shown) -> Option<String> {
    let unit = || unstated(headings, value).or_else(|| unit_of_another(run, headings, value));
    contradiction(run, value).or_else(|| misread(value)).or_else(unit)
}

/// A number below the headings of its table, on a page below that of its column; in a sentence without any.
pub type Shown = (Vec<String>, DisplayValue);
