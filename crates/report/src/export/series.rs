//! Series as tables for other programs: one row for each distribution of each trial.

use super::{Export, ExportError, quoted};
use crate::reasons::Worded;
use crate::render::markdown;
use coretalk_model::Histogram;
use coretalk_model::series::TrialResult;
use coretalk_model::stats::Estimate;
use std::collections::BTreeSet;
use std::io::Write;

const SHARES: [(&str, f64); 6] = [
    ("p50_ns", 0.5),
    ("p90_ns", 0.9),
    ("p99_ns", 0.99),
    ("p99.9_ns", 0.999),
    ("p99.99_ns", 0.9999),
    ("max_ns", 1.0),
];

/// Writes one row for each distribution. A trial without a distribution has a row, too. Unknown values are empty.
pub(super) fn write_csv(what: &Export<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    let header = &what.report.header;
    writeln!(out, "# run={}", header.id)?;
    writeln!(out, "# started={}", header.started)?;
    writeln!(out, "# simulated={}", header.simulated)?;
    writeln!(out, "# tool=coretalk {}", header.tool_version)?;
    for row in rows(what) {
        writeln!(out, "{}", row.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(","))?;
    }
    Ok(())
}

pub(super) fn write_markdown(what: &Export<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    for (index, row) in rows(what).into_iter().enumerate() {
        let cells: Vec<String> = row.iter().map(|cell| markdown::escaped(cell)).collect();
        writeln!(out, "| {} |", cells.join(" | "))?;
        if index == 0 {
            writeln!(out, "|{}", "---|".repeat(cells.len()))?;
        }
    }
    Ok(())
}

fn rows(what: &Export<'_>) -> Vec<Vec<String>> {
    let is_requested = |trial: &&TrialResult| what.probe.is_none_or(|probe| trial.spec.probe == probe);
    let trials = || what.report.series.iter().flat_map(|series| &series.result.trials).filter(is_requested);
    let parameters: BTreeSet<&str> =
        trials().flat_map(|trial| trial.spec.parameters.iter().map(|(name, _)| name)).collect();
    let values: BTreeSet<&str> = trials().flat_map(|trial| trial.values.keys().map(String::as_str)).collect();
    let counts: BTreeSet<&str> = trials().flat_map(|trial| trial.counts.keys().map(String::as_str)).collect();
    let mut rows = vec![heading([&parameters, &values, &counts])];
    for trial in trials() {
        let mut views: Vec<Option<(&String, &Histogram)>> = trial.histograms.iter().map(Some).collect();
        if views.is_empty() {
            views.push(None);
        }
        for view in views {
            rows.push(row(trial, view, [&parameters, &values, &counts]));
        }
    }
    rows
}

/// Unique column names: a name that is already in use gets its kind as a suffix, `mean_ns_point`.
fn heading([parameters, values, counts]: [&BTreeSet<&str>; 3]) -> Vec<String> {
    const FIRST: [&str; 2] = ["probe", "cpus"];
    const DISTRIBUTION: [&str; 3] = ["view", "count", "mean_ns"];
    const MEDIAN: [&str; 2] = ["median_ns_low", "median_ns_high"];
    const LAST: [&str; 4] = ["passes", "grade", "flags", "reason"];
    let shares = SHARES.map(|(name, _)| name);
    let fixed = [&FIRST[..], &DISTRIBUTION, &shares, &MEDIAN, &LAST].concat();
    let mut heading: Vec<String> = Vec::new();
    let add = |heading: &mut Vec<String>, name: String, kind: &str| {
        let mut name = name;
        while fixed.contains(&name.as_str()) || heading.contains(&name) {
            name.push_str(kind);
        }
        heading.push(name);
    };
    let add_fixed = |heading: &mut Vec<String>, names: &[&str]| {
        heading.extend(names.iter().map(|name| (*name).to_owned()))
    };
    add_fixed(&mut heading, &FIRST);
    parameters.iter().for_each(|name| add(&mut heading, (*name).to_owned(), "_parameter"));
    [&DISTRIBUTION[..], &shares, &MEDIAN].iter().for_each(|names| add_fixed(&mut heading, names));
    for name in values {
        add(&mut heading, (*name).to_owned(), "_point");
        ["low", "high"].iter().for_each(|end| add(&mut heading, format!("{name}_{end}"), "_end"));
    }
    counts.iter().for_each(|name| add(&mut heading, (*name).to_owned(), "_count"));
    add_fixed(&mut heading, &LAST);
    heading
}

fn row(
    trial: &TrialResult,
    view: Option<(&String, &Histogram)>,
    [parameters, values, counts]: [&BTreeSet<&str>; 3],
) -> Vec<String> {
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value}"));
    let ends = |estimate: Option<&Estimate>| -> [String; 2] {
        [estimate.map(|estimate| estimate.low), estimate.map(|estimate| estimate.high)].map(number)
    };
    let mut row = vec![trial.spec.probe.clone(), trial.spec.cpu_list()];
    let parameter =
        |name: &&str| trial.spec.parameters.0.get(*name).map_or_else(String::new, ToString::to_string);
    row.extend(parameters.iter().map(parameter));
    row.push(view.map_or_else(String::new, |(name, _)| name.clone()));
    row.push(view.map_or_else(String::new, |(_, histogram)| histogram.count().to_string()));
    row.push(number(view.and_then(|(_, histogram)| histogram.mean_ns())));
    row.extend(
        SHARES.map(|(_, share)| {
            number(view.and_then(|(_, histogram)| histogram.supported_percentile_ns(share)))
        }),
    );
    row.extend(ends(view.and_then(|(name, _)| trial.medians_ns.get(name))));
    for name in values {
        let value = trial.values.get(*name);
        row.push(number(value.map(|value| value.point)));
        row.extend(ends(value));
    }
    row.extend(counts.iter().map(|name| trial.counts.get(*name).map_or_else(String::new, u64::to_string)));
    row.push(trial.passes.to_string());
    row.push(trial.grade.map_or_else(String::new, |grade| grade.to_string()));
    row.push(trial.flags.iter().map(coretalk_model::Flag::name).collect::<Vec<_>>().join(" "));
    row.push(trial.reason.as_ref().map(Worded::text).unwrap_or_default());
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn column_names_are_unique_and_in_row_order() {
        let names = |names: &[&'static str]| names.iter().copied().collect::<BTreeSet<&str>>();
        let heading = heading([
            &names(&["batch", "view"]),
            &names(&["mean_ns", "median_ns", "x", "x_low"]),
            &names(&["batch", "passes", "x"]),
        ]);
        assert_eq!(heading.iter().collect::<BTreeSet<_>>().len(), heading.len(), "{heading:?}");
        assert_eq!(heading[2..5], ["batch", "view_parameter", "view"]);
        let after = heading.iter().position(|name| name == "median_ns_high").unwrap() + 1;
        let expected = "mean_ns_point,mean_ns_low,mean_ns_high,median_ns,median_ns_low_end,median_ns_high_end,\
                        x,x_low,x_high,x_low_point,x_low_low,x_low_high,\
                        batch_count,passes_count,x_count,passes,grade,flags,reason";
        assert_eq!(heading[after..].join(","), expected);
    }
}
