//! Reader for interval logs of HdrHistogram (`.hlog`): a histogram per line in base64 over zlib over the V2 encoding.

use super::document::{Document, decode};
use super::hgrm::{HgrmCount, NO_EVENTS, Spectrum, exact_rows, moments};
use super::{ImportError, IntervalError, Problem};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::{Decompress, FlushDecompress, Status};
use std::collections::BTreeMap;

/// Cookies of compressed and plain V2 histograms. The fifth hexadecimal digit from the right may be 1 or 0.
const COMPRESSED_V2: u32 = 0x1c84_9304;
const PLAIN_V2: u32 = 0x1c84_9303;
/// Cookies of floating-point histograms: digits, ratio of highest to lowest value, and a V2 histogram of integers.
const COMPRESSED_DOUBLE: u32 = 0x0c72_124f;
const PLAIN_DOUBLE: u32 = 0x0c72_124e;
const WORD_BITS: u32 = 0xf0;
const FAMILY: u32 = 0x1c84_9300;
/// Maximum inflated size. A histogram of an hour in ns with five digits has 5 million counts of a byte.
const MAX_BYTES: usize = 16 << 20;
/// In addition to one value per byte of the file, so that compressed zeros need at most 100 times the size of the log.
const MAX_VALUES: usize = 1 << 19;
/// Bytes of the header after the cookie and the length of the payload.
const HEADER: usize = 32;
/// Bytes of the header of a floating-point histogram, including its cookie.
const DOUBLE_HEADER: usize = 16;
const TICKS: u32 = 5;
const NS_PER_MS: f64 = 1e6;

/// Reads an interval log: a spectrum for each tag, starting with the spectrum without a tag.
///
/// # Errors
/// [`ImportError`] with the line: no text, no interval, no valid V2 encoding, or too many values.
pub fn read_hlog(bytes: &[u8]) -> Result<Vec<Spectrum>, ImportError> {
    let text = decode(bytes)?;
    let document = Document::new(&text);
    let mut tags: BTreeMap<String, Tag> = BTreeMap::new();
    let mut remaining_values = MAX_VALUES + bytes.len();
    for index in 0..document.len() {
        let line = document.line(index).trim();
        if line.is_empty() || line.starts_with(['#', '"']) {
            continue;
        }
        let at = |problem: Problem| problem.at_line(index);
        let (tag, rest) = match line.strip_prefix("Tag=").and_then(|rest| rest.split_once(',')) {
            Some((tag, rest)) => (tag, rest),
            None => ("", line),
        };
        let fields: Vec<&str> = rest.split(',').map(str::trim).collect();
        let [_, _, max, payload] = fields.as_slice() else {
            return Err(at(Problem::NotAnInterval { why: IntervalError::Fields }));
        };
        let not_a_number = || IntervalError::NotANumber { field: (*max).to_owned() };
        let max: f64 = max.parse().map_err(|_| at(Problem::NotAnInterval { why: not_a_number() }))?;
        let counts =
            histogram(payload, remaining_values).map_err(|why| at(Problem::NotAnInterval { why }))?;
        let counted = tags.entry(tag.to_owned()).or_default();
        let known = counted.counts.len();
        counted.add(counts, max, index + 1).map_err(|why| at(Problem::NotAnInterval { why }))?;
        remaining_values = remaining_values.saturating_sub(counted.counts.len() - known);
    }
    if tags.is_empty() {
        return Err(Problem::NoPercentiles.into());
    }
    Ok(tags.into_iter().map(|(tag, counted)| counted.spectrum(&tag)).collect())
}

/// Whether the text is an interval log.
pub fn is_hlog(text: &str) -> bool {
    text.lines().any(|line| {
        let payload = line.trim().rsplit(',').next().unwrap_or_default();
        (payload.starts_with("HIST") || payload.starts_with("DHIST")) && payload.len() > 16
    })
}

#[derive(Default)]
struct Tag {
    /// Keyed by the bits of the lowest value, which have the same order as non-negative values.
    counts: BTreeMap<u64, Range>,
    total: u64,
    intervals: usize,
    /// Whether the maximum of every interval, in milliseconds, matches its counts in nanoseconds.
    in_ns: bool,
    mismatched_lines: Vec<usize>,
}

impl Tag {
    fn add(&mut self, counts: Vec<Range>, max: f64, line: usize) -> Result<(), IntervalError> {
        self.in_ns = self.in_ns || self.intervals == 0;
        self.intervals += 1;
        let [lowest, highest] = counts.last().map_or([0.0; 2], |range| [range.lowest, range.highest]);
        // The log rounds the maximum to three decimals.
        let matches_max = |scale: f64| {
            let (low, high) = (lowest / scale - 0.001, highest / scale + 0.001);
            (low..=high).contains(&max)
        };
        self.in_ns &= matches_max(NS_PER_MS);
        if !matches_max(NS_PER_MS) && !matches_max(1.0) {
            self.mismatched_lines.push(line);
        }
        for range in counts {
            self.total = self.total.checked_add(range.count).ok_or(IntervalError::TooMany)?;
            let known = self.counts.entry(range.lowest.to_bits()).or_insert(Range { count: 0, ..range });
            // The number of digits may change within a log. The wider range is kept.
            known.highest = known.highest.max(range.highest);
            known.count += range.count;
        }
        Ok(())
    }

    fn spectrum(&self, tag: &str) -> Spectrum {
        let counts: Vec<HgrmCount> = self
            .counts
            .values()
            .map(|range| HgrmCount {
                highest: range.highest,
                middle: (range.lowest + range.highest) / 2.0,
                count: range.count,
            })
            .collect();
        let moments = moments(&counts);
        let mut warnings = Vec::new();
        if let Some(line) = self.mismatched_lines.first() {
            warnings.push(format!(
                "the maximum beside {} of {} intervals (the first in line {line}) does not match its counts",
                self.mismatched_lines.len(),
                self.intervals
            ));
        }
        if self.total == 0 {
            warnings.push(NO_EVENTS.to_owned());
        }
        // Fractional values are printed with three digits of the smallest value.
        let is_whole = counts.iter().all(|range| range.highest.fract() == 0.0);
        let least = counts.iter().map(|range| range.highest).find(|value| *value > 0.0);
        let digits = least.map_or(0.0, |least| (2.0 - least.log10().floor()).clamp(0.0, 12.0));
        Spectrum {
            name: (!tag.is_empty()).then(|| tag.to_owned()),
            // The writer divides by a million by default, whatever the counted unit.
            unit: self.in_ns.then(|| "ns".to_owned()),
            is_assumed: self.in_ns,
            digits: if is_whole { 0 } else { digits as usize },
            rows: exact_rows(&counts, self.total, TICKS),
            mean: moments.map(|[mean, _]| mean),
            deviation: moments.map(|[_, deviation]| deviation),
            warnings,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Range {
    lowest: f64,
    highest: f64,
    count: u64,
}

fn histogram(payload: &str, max_ranges: usize) -> Result<Vec<Range>, IntervalError> {
    let bytes = STANDARD.decode(payload).map_err(|_| IntervalError::NotBase64)?;
    let mut outer = Bytes(&bytes);
    let cookie = outer.word()?;
    let is_double = matches!(cookie, COMPRESSED_DOUBLE | PLAIN_DOUBLE);
    if cookie & !0xff != FAMILY && !is_double {
        return Err(IntervalError::NotHdr);
    }
    let inner = match if is_double { cookie } else { cookie & !WORD_BITS } {
        COMPRESSED_V2 | COMPRESSED_DOUBLE => {
            let length = outer.word()? as usize;
            let packed = outer.0.get(..length).ok_or(IntervalError::Cut)?;
            inflate(packed)?
        }
        PLAIN_V2 | PLAIN_DOUBLE => bytes.clone(),
        // Compressed: 0x…09 is V0, 0x…02 is V1. Plain: 0x…08 and 0x…01.
        older => {
            let version = match older & 0xf {
                0x8 | 0x9 => "V0",
                0x1 | 0x2 => "V1",
                _ => "an unknown version",
            };
            return Err(IntervalError::Older { version });
        }
    };
    if !is_double {
        return counts(&inner, |_| 1.0, max_ranges);
    }
    if Bytes(&inner).word()? != PLAIN_DOUBLE {
        return Err(IntervalError::NotV2);
    }
    counts(inner.get(DOUBLE_HEADER..).ok_or(IntervalError::Cut)?, f64::from_bits, max_ranges)
}

fn inflate(packed: &[u8]) -> Result<Vec<u8>, IntervalError> {
    let mut inflater = Decompress::new(true);
    let mut inner = Vec::with_capacity(4096);
    loop {
        let (read, written) = (inflater.total_in(), inner.len());
        let rest = packed.get(read as usize..).unwrap_or_default();
        match inflater.decompress_vec(rest, &mut inner, FlushDecompress::None) {
            Ok(Status::StreamEnd) => return Ok(inner),
            Ok(_) if inner.len() > MAX_BYTES => {
                return Err(IntervalError::TooLarge { limit_mib: MAX_BYTES >> 20 });
            }
            Ok(_) if inner.len() == inner.capacity() => inner.reserve(inner.len()),
            Ok(_) if inflater.total_in() > read || inner.len() > written => {}
            _ => return Err(IntervalError::NotZlib),
        }
    }
}

/// A header, then counts in ZigZag LEB128 of at most nine bytes. A negative count is a run of zeros (HdrHistogram,
/// `AbstractHistogram.encodeIntoByteBuffer`). `factor` converts the last field of the header to the value of one unit.
fn counts(bytes: &[u8], factor: impl Fn(u64) -> f64, max_ranges: usize) -> Result<Vec<Range>, IntervalError> {
    let mut rest = Bytes(bytes);
    if rest.word()? & !WORD_BITS != PLAIN_V2 {
        return Err(IntervalError::NotV2);
    }
    let length = rest.word()? as usize;
    let header = rest.0.get(..HEADER).ok_or(IntervalError::Cut)?;
    let word = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let long = |at: usize| u64::from(word(at)) << 32 | u64::from(word(at + 4));
    // The first word (normalizing offset) is ignored, because HdrHistogramJS writes 1 without an offset. A real offset
    // would not match the maximum of the interval.
    let (digits, lowest, factor) = (word(4), long(8), factor(long(24)));
    // Bounds that keep sums of squares finite.
    if digits > 5 || !(1..=1 << 48).contains(&lowest) || !(1e-100..=1e100).contains(&factor) {
        return Err(IntervalError::Header);
    }
    let layout = Layout::new(digits, lowest);
    let mut payload =
        Bytes(rest.0.get(HEADER..).and_then(|rest| rest.get(..length)).ok_or(IntervalError::Cut)?);
    let mut ranges = Vec::new();
    let mut index = 0u64;
    while !payload.0.is_empty() {
        let count = payload.zigzag()?;
        if count < 0 {
            index = index.saturating_add(count.unsigned_abs());
            continue;
        }
        if count > 0 {
            let (lowest, highest) = layout.range(index).ok_or(IntervalError::Beyond)?;
            let [lowest, highest] = [lowest, highest].map(|value| value as f64 * factor);
            if ranges.len() >= max_ranges {
                return Err(IntervalError::TooManyValues { limit: MAX_VALUES });
            }
            ranges.push(Range { lowest, highest, count: count.unsigned_abs() });
        }
        index = index.saturating_add(1);
    }
    Ok(ranges)
}

struct Layout {
    unit_bits: u32,
    half_bits: u32,
}

impl Layout {
    fn new(digits: u32, lowest: u64) -> Layout {
        // A bucket resolves this number of digits, rounded up to a power of two steps.
        let steps = 2 * 10u64.pow(digits);
        Layout { unit_bits: lowest.ilog2(), half_bits: steps.next_power_of_two().ilog2() - 1 }
    }

    fn range(&self, index: u64) -> Option<(u64, u64)> {
        let half = 1u64 << self.half_bits;
        let (bucket, step) = match index >> self.half_bits {
            0 => (0, index),
            bucket => (bucket - 1, (index & (half - 1)) + half),
        };
        let shift = u32::try_from(bucket).ok()?.checked_add(self.unit_bits)?;
        // 63 bits, as in HdrHistogram.
        let fits = shift < 63 && step.leading_zeros() > shift;
        fits.then(|| (step << shift, (step << shift) + ((1 << shift) - 1)))
    }
}

struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn word(&mut self) -> Result<u32, IntervalError> {
        let (word, rest) = self.0.split_first_chunk::<4>().ok_or(IntervalError::Cut)?;
        self.0 = rest;
        Ok(u32::from_be_bytes(*word))
    }

    fn zigzag(&mut self) -> Result<i64, IntervalError> {
        let mut value = 0u64;
        for index in 0..9 {
            let (&byte, rest) = self.0.split_first().ok_or(IntervalError::CountsCut)?;
            self.0 = rest;
            if index == 8 {
                // The ninth byte holds eight bits.
                value |= u64::from(byte) << 56;
                break;
            }
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                break;
            }
        }
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::hgrm::Percentile;
    use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer, V2Serializer};
    use proptest::prelude::*;

    fn encoded(values: &[u64], plain: bool) -> String {
        let mut histogram = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 1 << 42, 3).unwrap();
        values.iter().for_each(|&value| histogram.record(value).unwrap());
        let mut bytes = Vec::new();
        if plain {
            V2Serializer::new().serialize(&histogram, &mut bytes).unwrap();
        } else {
            V2DeflateSerializer::new().serialize(&histogram, &mut bytes).unwrap();
        }
        STANDARD.encode(bytes)
    }

    #[test]
    fn intervals_of_a_tag_are_added_up() {
        let [a, b] = [encoded(&[2_000_000, 1_000_000], false), encoded(&[3_000_000], true)];
        let log =
            format!("#[x]\n\"Start\"\n0.1,1.0,2.000,{a}\nTag=A,0.1,1.0,2.000,{a}\n1.1,1.0,3.000,{b} \n");
        let spectra = read_hlog(log.as_bytes()).unwrap();
        assert_eq!(spectra.len(), 2);
        assert_eq!((spectra[0].total(), spectra[1].total(), spectra[1].name.as_deref()), (3, 2, Some("A")));
        assert_eq!((spectra[0].unit.as_deref(), spectra[0].is_assumed), (Some("ns"), true));
        assert!(spectra[0].warnings.is_empty(), "{:?}", spectra[0].warnings);
        let Some(Percentile::Exact(max)) = spectra[0].percentile(1.0) else { panic!() };
        assert!((max / 3e6 - 1.0).abs() < 1e-3, "{max}");
    }

    #[test]
    fn all_percentiles_are_exact() {
        let log = |max: &str, payload: &str| {
            read_hlog(format!("0,1,{max},{payload}\n").as_bytes()).unwrap().remove(0)
        };
        let exact =
            log("5.002", "HISTFAAAADJ4nJNpmSzMwMAgwAABzFCaEch0M9ixgMH+A0TgPP8L9rP8C9iWKx1j3D2RkQkA0P4KiQ==");
        let at = |share| exact.percentile(share);
        assert_eq!(
            [0.5, 0.9, 0.99].map(at),
            [1000.0, 2000.0, 9007.0].map(|value| Some(Percentile::Exact(value)))
        );
        assert_eq!([0.999, 1.0].map(at), [9007.0, 5_001_215.0].map(|value| Some(Percentile::Exact(value))));
        let double = log(
            "0.500",
            "DHISTwAAAEF4nOMpEvJjYGBgZgABficHmZbJwiAWAwQwQ2lGINPNYMcCBrsNx74v2Pq29zz/C/az/AvYlisdY/wawwQAcq0QSQ==",
        );
        assert_eq!((double.unit.as_deref(), double.digits, double.total()), (None, 5, 1000));
        let Some(Percentile::Exact(value)) = double.percentile(0.9) else { panic!("{double:?}") };
        assert!((value - 0.002).abs() < 1e-12, "{value}");
        // 10^17 and 2^53 - 1 values of 100, and one of 200.
        for payload in [
            "HISTFAAAADB4nJNpmSzMwMDAxwABzFCaEch0M9ixgMH+A0TgOGNDw4Ub3fcWPWY6ysgEAMgMC4E=",
            "HISTFAAAACt4nJNpmSzMwMDAywABzFCaEch0M9ixgMH+A0TgOOO//2Agf5SRCQDNEQz/",
        ] {
            let huge = log("0.000", payload);
            assert!(huge.rows.len() < 400, "{}", huge.rows.len());
            assert_eq!(huge.percentile(1.0), Some(Percentile::Exact(200.0)));
            assert_eq!(huge.percentile(0.5), Some(Percentile::Exact(100.0)));
        }
    }

    #[test]
    fn a_log_of_millions_of_values_in_a_few_bytes_is_refused() {
        let raw = |number: usize| {
            let mut bytes = PLAIN_V2.to_be_bytes().to_vec();
            bytes.extend([number as u32, 0, 5].map(u32::to_be_bytes).concat());
            bytes.extend([1, u64::MAX >> 1, 1.0f64.to_bits()].map(u64::to_be_bytes).concat());
            bytes.resize(bytes.len() + number, 2);
            let mut packed = Vec::with_capacity(1 << 20);
            let mut zlib = flate2::Compress::new(flate2::Compression::best(), true);
            zlib.compress_vec(&bytes, &mut packed, flate2::FlushCompress::Finish).unwrap();
            let head = [COMPRESSED_V2, packed.len() as u32].map(u32::to_be_bytes).concat();
            STANDARD.encode([head, packed].concat())
        };
        let few = raw(200_000);
        let log =
            |tags: usize| -> String { (0..tags).map(|tag| format!("Tag={tag},0,1,1.0,{few}\n")).collect() };
        assert_eq!(read_hlog(log(2).as_bytes()).unwrap()[1].total(), 200_000);
        for log in [log(7), format!("0,1,1.0,{}\n", raw(6_000_000))] {
            let error = read_hlog(log.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("more than 524288 different values"), "{error}");
        }
    }

    #[test]
    fn broken_logs_are_refused_with_their_line() {
        let good = encoded(&[7], false);
        let old = STANDARD.encode([0x1c, 0x84, 0x93, 0x89, 0, 0, 0, 0]);
        let cut = STANDARD.encode(&STANDARD.decode(&good).unwrap()[..20]);
        let mut bytes = STANDARD.decode(encoded(&[7], true)).unwrap();
        bytes[12..16].copy_from_slice(&9u32.to_be_bytes());
        let odd = STANDARD.encode(&bytes);
        for (line, part) in [
            ("0,1,1.0".to_owned(), "four fields"),
            (format!("0,1,soon,{good}"), "`soon`"),
            ("0,1,1.0,HIST*".to_owned(), "base64"),
            ("0,1,1.0,AAAAAAAA".to_owned(), "not an HdrHistogram"),
            (format!("0,1,1.0,{old}"), "encoded as V0"),
            (format!("0,1,1.0,{cut}"), "truncated"),
            (format!("0,1,1.0,{odd}"), "invalid"),
        ] {
            let error = read_hlog(format!("#x\n{line}\n").as_bytes()).unwrap_err();
            assert_eq!(error.line, Some(2), "{line}: {error}");
            assert!(error.to_string().contains(part), "{line}: {error}");
        }
        assert!(read_hlog(b"#x\n").is_err());
    }

    proptest! {
        #[test]
        fn decoded_values_equal_those_of_the_library(values in proptest::collection::vec(0u64..1 << 42, 1..60), plain: bool) {
            let mut library = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 1 << 42, 3).unwrap();
            values.iter().for_each(|&value| library.record(value).unwrap());
            let ranges = histogram(&encoded(&values, plain), usize::MAX).unwrap();
            let expected: Vec<(u64, u64)> =
                library.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value())).collect();
            prop_assert_eq!(ranges.iter().map(|range| (range.highest as u64, range.count)).collect::<Vec<_>>(), expected);
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let log = format!("0,1,1.0,{}", STANDARD.encode(&bytes));
            let _ = read_hlog(log.as_bytes());
            let mut headed = 0x1c84_9313u32.to_be_bytes().to_vec();
            headed.extend(&bytes);
            let _ = read_hlog(format!("0,1,1.0,{}", STANDARD.encode(&headed)).as_bytes());
        }
    }
}
