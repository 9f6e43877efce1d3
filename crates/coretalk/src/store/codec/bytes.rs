//! [`Writer`] and [`Reader`]: variable-length numbers with a checksum.

use coretalk_model::cpu::MAX_CPU;
use coretalk_model::{CpuId, Picos};
use std::ops::RangeInclusive;

/// Reason why a blob cannot be decoded.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Damage {
    #[error("it ends too early")]
    Short,
    #[error("{0} bytes follow after its end")]
    Long(usize),
    #[error("its checksum does not match")]
    CheckSum,
    /// A newer version of the tool wrote the blob, or the blob is of another kind.
    #[error("its encoding has version {found}, but this tool supports {known}")]
    Version {
        /// Version of the blob.
        found: u8,
        /// Newest supported version of this kind of blob.
        known: u8,
    },
    #[error("{what} is {value}, which is impossible")]
    Value {
        /// Name of the quantity.
        what: &'static str,
        value: u64,
    },
    #[error("{what} is {value:?}, which is impossible")]
    Number {
        /// Name of the quantity with its unit.
        what: &'static str,
        value: f32,
    },
}

/// Maximum duration or moment within a segment, in picoseconds: 53 days. The sum of a few such values fits 64 bits.
pub const MAX_PS: u64 = 1 << 62;

/// Maximum number of events in all rows of a file: one per nanosecond for 36 years. Twice the sum over any rows does
/// not overflow.
const MAX_EVENTS: u64 = 1 << 60;

/// Maximum latency in nanoseconds: 100 s.
const MAX_NS: f32 = 1e11;

/// Maximum core clock in GHz: ten times the fastest known.
const FASTEST_GHZ: f32 = 100.0;

/// Number of events in the rows read so far; limited to [`MAX_EVENTS`].
#[derive(Debug, Default)]
pub struct Events(u64);

impl Events {
    pub fn add(&mut self, what: &'static str, value: u64) -> Result<u64, Damage> {
        self.0 = self.0.saturating_add(value);
        if self.0 > MAX_EVENTS { Err(Damage::Value { what, value }) } else { Ok(value) }
    }
}

pub fn latency(what: &'static str, ns: f32) -> Result<f32, Damage> {
    number(what, ns, 0.0..=MAX_NS)
}

pub fn core_clock(ghz: f32) -> Result<f32, Damage> {
    number("a core clock", ghz, 0.0..=FASTEST_GHZ)
}

pub fn number(what: &'static str, value: f32, bounds: RangeInclusive<f32>) -> Result<f32, Damage> {
    if bounds.contains(&value) { Ok(value) } else { Err(Damage::Number { what, value }) }
}

/// Computes CRC-32 (IEEE 802.3, reflected, as in zlib and PNG) over several slices. SQLite has no checksums, so a
/// flipped bit in a blob would read as a slightly different number.
pub fn checksum(parts: &[&[u8]]) -> u32 {
    let mut sum = flate2::Crc::new();
    parts.iter().for_each(|part| sum.update(part));
    sum.sum()
}

#[derive(Debug, Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    pub fn new(version: u8) -> Writer {
        Writer(vec![version])
    }

    pub fn byte(&mut self, value: u8) {
        self.0.push(value);
    }

    /// Appends a number in LEB128: seven bits per byte, lowest first. The high bit is set on all but the last byte.
    pub fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// Appends a signed number in zigzag code: 0, −1, 1, −2, 2 … become 0, 1, 2, 3, 4 …
    pub fn signed(&mut self, value: i64) {
        self.varint((value << 1 ^ value >> 63) as u64);
    }

    pub fn float(&mut self, value: f32) {
        self.0.extend_from_slice(&value.to_bits().to_le_bytes());
    }

    /// Appends 0 for `None`, else 1 + the zigzag difference between the bits of the float and of `near`. Floats of one
    /// sign have the same order as their bits, so similar floats have small differences.
    pub fn float_near(&mut self, value: Option<f32>, near: f32) {
        match value {
            None => self.byte(0),
            Some(value) => {
                let difference = i64::from(value.to_bits()) - i64::from(near.to_bits());
                self.varint((difference << 1 ^ difference >> 63) as u64 + 1);
            }
        }
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Finishes the blob with a checksum, which also covers `context`: the other columns of the row.
    pub fn seal(mut self, context: &[u8]) -> Vec<u8> {
        let sum = checksum(&[context, &self.0]);
        self.0.extend_from_slice(&sum.to_le_bytes());
        self.0
    }
}

/// Reads numbers from a blob. [`Reader::count`] checks a length in the blob before it is used to allocate.
#[derive(Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    version: u8,
}

impl<'a> Reader<'a> {
    pub fn open(blob: &'a [u8], context: &[u8], known: u8) -> Result<Reader<'a>, Damage> {
        let (contents, sum) = blob.split_last_chunk::<4>().ok_or(Damage::Short)?;
        let (&version, rest) = contents.split_first().ok_or(Damage::Short)?;
        if u32::from_le_bytes(*sum) != checksum(&[context, contents]) {
            return Err(Damage::CheckSum);
        }
        if version == 0 || version > known {
            return Err(Damage::Version { found: version, known });
        }
        Ok(Reader { rest, version })
    }

    pub fn version(&self) -> u8 {
        self.version
    }

    pub fn bytes(&mut self, length: usize) -> Result<&'a [u8], Damage> {
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(Damage::Short)?;
        self.rest = rest;
        Ok(bytes)
    }

    pub fn byte(&mut self) -> Result<u8, Damage> {
        let (&first, rest) = self.rest.split_first().ok_or(Damage::Short)?;
        self.rest = rest;
        Ok(first)
    }

    pub fn varint(&mut self) -> Result<u64, Damage> {
        // Most numbers are counts and differences of one or two bytes.
        if let [byte @ ..0x80, rest @ ..] = self.rest {
            self.rest = rest;
            return Ok(u64::from(*byte));
        }
        if let [low, high @ ..0x80, rest @ ..] = self.rest {
            self.rest = rest;
            return Ok(u64::from(low & 0x7F) | u64::from(*high) << 7);
        }
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Damage::Value { what: "the last byte of a number", value: 0x80 })
    }

    pub fn up_to(&mut self, what: &'static str, most: u64) -> Result<u64, Damage> {
        let value = self.varint()?;
        if value > most { Err(Damage::Value { what, value }) } else { Ok(value) }
    }

    pub fn varint32(&mut self, what: &'static str) -> Result<u32, Damage> {
        self.up_to(what, u32::MAX.into()).map(|value| value as u32)
    }

    pub fn cpu(&mut self) -> Result<CpuId, Damage> {
        self.up_to("a CPU", MAX_CPU.into()).map(|id| CpuId(id as u32))
    }

    /// Reads a time within a segment, stored as a difference from `near`.
    pub fn moment_near(&mut self, near: Picos) -> Result<Picos, Damage> {
        let value = near.0.wrapping_add(self.signed()? as u64);
        if value > MAX_PS { Err(Damage::Value { what: "a time in ps", value }) } else { Ok(Picos(value)) }
    }

    pub fn time(&mut self) -> Result<Picos, Damage> {
        self.up_to("a time in ps", MAX_PS).map(Picos)
    }

    pub fn signed(&mut self) -> Result<i64, Damage> {
        self.varint().map(unzigzag)
    }

    pub fn float(&mut self) -> Result<f32, Damage> {
        let (bytes, rest) = self.rest.split_first_chunk::<4>().ok_or(Damage::Short)?;
        self.rest = rest;
        Ok(f32::from_bits(u32::from_le_bytes(*bytes)))
    }

    pub fn float_near(&mut self, near: f32) -> Result<Option<f32>, Damage> {
        let Some(value) = self.varint()?.checked_sub(1) else { return Ok(None) };
        let bits = i64::from(near.to_bits()).wrapping_add(unzigzag(value));
        u32::try_from(bits)
            .map(|bits| Some(f32::from_bits(bits)))
            .map_err(|_| Damage::Value { what: "the difference of two floats", value })
    }

    /// Reads a number of items that take at least `least_bits` each. Fails if they cannot fit in the remaining bytes,
    /// so allocations stay within a small multiple of the blob.
    pub fn count(&mut self, what: &'static str, least_bits: usize) -> Result<usize, Damage> {
        let value = self.varint()?;
        let most = (self.rest.len() * 8 / least_bits.max(1)) as u64;
        if value > most { Err(Damage::Value { what, value }) } else { Ok(value as usize) }
    }

    pub fn left(&self) -> usize {
        self.rest.len()
    }

    pub fn finish(self) -> Result<(), Damage> {
        if self.rest.is_empty() { Ok(()) } else { Err(Damage::Long(self.rest.len())) }
    }
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_checksum_equals_that_of_zlib() {
        assert_eq!(checksum(&[b"1234", b"56789"]), 0xCBF4_3926);
        assert_eq!(checksum(&[b"123456789"]), 0xCBF4_3926);
        assert_eq!(checksum(&[b"The quick brown fox ", b"jumps over the lazy dog"]), 0x414F_A339);
    }

    #[test]
    fn counts_beyond_the_remaining_bytes_are_refused() {
        let mut writer = Writer::new(1);
        writer.varint(u64::MAX);
        let blob = writer.seal(b"");
        let mut reader = Reader::open(&blob, b"", 1).unwrap();
        assert!(matches!(reader.count("items", 8), Err(Damage::Value { .. })));
    }

    proptest! {
        #[test]
        fn numbers_read_as_written(a: u64, b: i64, c: u32, d: u32, context: Vec<u8>) {
            let mut writer = Writer::new(1);
            writer.varint(a);
            writer.signed(b);
            writer.float(f32::from_bits(c));
            writer.float_near(Some(f32::from_bits(d)), f32::from_bits(c));
            writer.float_near(None, 1.0);
            let blob = writer.seal(&context);
            let mut reader = Reader::open(&blob, &context, 1).unwrap();
            prop_assert_eq!(reader.varint(), Ok(a));
            prop_assert_eq!(reader.signed(), Ok(b));
            prop_assert_eq!(reader.float().unwrap().to_bits(), c);
            prop_assert_eq!(reader.float_near(f32::from_bits(c)).unwrap().unwrap().to_bits(), d);
            prop_assert_eq!(reader.float_near(1.0), Ok(None));
            prop_assert_eq!(reader.finish(), Ok(()));
        }
    }
}
