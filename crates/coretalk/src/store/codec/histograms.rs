//! Histograms of a pass: `(name, (value, count)…)…`, with values as differences.

use super::bytes::{Damage, Events, Reader, Writer};
use coretalk_model::Histogram;
use std::collections::BTreeMap;

const VERSION: u8 = 1;

pub fn encode_histograms(histograms: &BTreeMap<String, Histogram>, context: &[u8]) -> Vec<u8> {
    let mut blob = Writer::new(VERSION);
    blob.varint(histograms.len() as u64);
    for (name, histogram) in histograms {
        blob.varint(name.len() as u64);
        blob.bytes(name.as_bytes());
        blob.varint(histogram.iter().len() as u64);
        let mut last = 0;
        for (units, count) in histogram.iter() {
            blob.varint(units - last);
            blob.varint(count);
            last = units;
        }
    }
    blob.seal(context)
}

/// Decodes what [`encode_histograms`] wrote; `events` holds the total of the preceding rows.
pub fn decode_histograms(
    blob: &[u8],
    context: &[u8],
    events: &mut Events,
) -> Result<BTreeMap<String, Histogram>, Damage> {
    let mut reader = Reader::open(blob, context, VERSION)?;
    let mut histograms = BTreeMap::new();
    for _ in 0..reader.count("distributions", 16)? {
        let length = reader.count("letters of a name", 8)?;
        let name = std::str::from_utf8(reader.bytes(length)?)
            .map_err(|_| Damage::Value { what: "a name that is not UTF-8", value: length as u64 })?;
        let values = reader.count("values of a distribution", 16)?;
        let mut histogram = Histogram::with_capacity(values);
        let mut last = 0u64;
        for _ in 0..values {
            let step = reader.varint()?;
            last = last.saturating_add(step);
            if last > Histogram::HIGHEST {
                return Err(Damage::Value { what: "a duration", value: last });
            }
            histogram.record(last, reader.varint()?);
        }
        events.add("the count of a value", histogram.count())?;
        histograms.insert(name.to_owned(), histogram);
    }
    reader.finish()?;
    Ok(histograms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn counts_with_an_overflowing_sum_are_refused() {
        let encoded = |count: u64| {
            let mut histogram = Histogram::new();
            histogram.record(5, count);
            encode_histograms(&BTreeMap::from([("trip".to_owned(), histogram)]), b"")
        };
        for (counts, fit) in [(vec![1 << 63, 1 << 63], 0), (vec![1 << 59; 4], 2), (vec![4, u64::MAX, 4], 1)] {
            let mut events = Events::default();
            let read = |&&count: &&u64| decode_histograms(&encoded(count), b"", &mut events).is_ok();
            assert_eq!(counts.iter().take_while(read).count(), fit, "{counts:?}");
        }
    }

    proptest! {
        #[test]
        fn distributions_read_as_written(values: Vec<(u64, u32)>, others in proptest::collection::vec(0u64..9_999, 0..9)) {
            let mut slept = Histogram::new();
            values.iter().for_each(|&(units, count)| slept.record(units, u64::from(count)));
            let mut hot = Histogram::new();
            others.iter().for_each(|&units| hot.record(units, 1));
            let histograms = BTreeMap::from([("slept".to_owned(), slept), ("hot".to_owned(), hot)]);
            let blob = encode_histograms(&histograms, b"row");
            prop_assert_eq!(decode_histograms(&blob, b"row", &mut Events::default()), Ok(histograms));
            prop_assert_eq!(decode_histograms(&blob, b"other", &mut Events::default()), Err(Damage::CheckSum));
        }
    }
}
