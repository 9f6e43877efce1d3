//! Published percentile tables, rebuilt from their own counts and written again, byte for byte.

use coretalk_model::formats::hgrm::{HgrmCount, HgrmStyle, write_counts};
use std::path::PathBuf;

fn folder() -> PathBuf {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    std::env::var_os("CORETALK_TEST_DATA").map_or(beside, PathBuf::from).join("hgrm/pauseintrinsics")
}

/// The rows of a table: value as printed, level in percent, cumulative count.
fn rows(text: &str) -> Vec<(&str, u64, &str)> {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let (value, level, count) = (words.next()?, words.next()?, words.next()?);
            let _: (f64, f64) = (value.parse().ok()?, level.parse().ok()?);
            Some((value, count.parse().ok()?, line))
        })
        .collect()
}

#[test]
fn published_tables_are_reproduced_byte_for_byte() {
    let mut compared = 0;
    for name in ["BusySpin", "GetTimestamp", "Pause", "SpinWait"] {
        let path = folder().join(format!("Kaveri-{name}.hgrm"));
        let Ok(text) = std::fs::read_to_string(&path) else {
            eprintln!("skipped: {} is not here", path.display());
            continue;
        };
        let rows = rows(&text);
        let mut counts: Vec<HgrmCount> = Vec::new();
        let mut seen = 0;
        for &(value, cumulative, _) in &rows {
            if cumulative > seen {
                let highest: f64 = value.parse().unwrap();
                counts.push(HgrmCount { highest, middle: highest, count: cumulative - seen });
                seen = cumulative;
            }
        }
        let style = HgrmStyle { digits: 2, ticks: 5, scale: 1.0, buckets: [35, 256] };
        let written = write_counts(&counts, &style, &[]);
        let mine: Vec<&str> = self::rows(&written).into_iter().map(|row| row.2).collect();
        let theirs: Vec<&str> = rows.iter().map(|row| row.2.trim_end_matches('\r')).collect();
        assert_eq!(mine, theirs, "{name}");
        let footer = |text: &str, start: &str| {
            text.lines().find(|line| line.starts_with(start)).map(|line| line.trim_end().to_owned())
        };
        for start in ["#[Max", "#[Buckets"] {
            assert_eq!(footer(&written, start), footer(&text, start), "{name}");
        }
        compared += rows.len();
    }
    assert!(compared == 0 || compared > 300, "{compared} rows");
}

#[test]
fn every_row_but_the_last_has_four_numbers_separated_by_blanks() {
    let counts = [(10.0, 7), (20.0, 2), (500.0, 1)].map(|(highest, count)| HgrmCount {
        highest,
        middle: highest,
        count,
    });
    let text = write_counts(&counts, &HgrmStyle { scale: 1.0, ..HgrmStyle::default() }, &["a run".into()]);
    let of_table: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).skip(2).collect();
    let (last, others) = of_table.split_last().unwrap();
    assert!(
        others.iter().all(|line| line.split_whitespace().filter_map(|n| n.parse::<f64>().ok()).count() == 4)
    );
    assert_eq!(last.split_whitespace().count(), 3, "{text}");
    assert!(
        text.starts_with("#a run\n       Value     Percentile TotalCount 1/(1-Percentile)\n\n"),
        "{text}"
    );
    assert_eq!(write_counts(&[], &HgrmStyle::default(), &[]).lines().count(), 5);
}
