//! Statistics of single events: minimum, mean, maximum and 95th percentile.

use std::time::Duration;

/// The statistics of events, in milliseconds.
pub fn numbers(mut events: Vec<Duration>) -> Vec<(&'static str, f64)> {
    events.sort_unstable();
    let ms = |event: &Duration| event.as_secs_f64() * 1e3;
    let (Some(first), Some(last)) = (events.first(), events.last()) else { return Vec::new() };
    let mean = events.iter().map(ms).sum::<f64>() / events.len() as f64;
    // Nearest rank: the duration of an actual event.
    let p95 = &events[(events.len() * 95).div_ceil(100) - 1];
    vec![
        ("event_ms_min", ms(first)),
        ("event_ms_avg", mean),
        ("event_ms_max", ms(last)),
        ("event_ms_p95", ms(p95)),
    ]
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_percentile_is_the_duration_of_an_actual_event() {
        let events = (1..=100).map(std::time::Duration::from_millis).collect();
        let expected =
            [("event_ms_min", 1.0), ("event_ms_avg", 50.5), ("event_ms_max", 100.0), ("event_ms_p95", 95.0)];
        for ((name, found), (expected_name, expected)) in super::numbers(events).into_iter().zip(expected) {
            assert_eq!(name, expected_name);
            assert!((found - expected).abs() < 1e-9, "{name}: {found}");
        }
        assert!(super::numbers(Vec::new()).is_empty());
    }
}
