//! Reader for percentile tables of HdrHistogram: `.hgrm` files, also with commas and quotes, and inside other text.

use super::document::{Document, decode};
use super::hgrm::{NO_EVENTS, Spectrum, SpectrumRow};
use super::{ImportError, Problem};

struct Heading {
    columns: [usize; 3],
    /// Number of columns. The last row may lack the last column.
    number: usize,
    unit: Option<String>,
}

impl Heading {
    fn parse(line: &str) -> Option<Heading> {
        let line = line.replace(" (", "(");
        let names: Vec<&str> = fields(&line).collect();
        let column = |name: &str| names.iter().position(|field| field.split('(').next() == Some(name));
        let columns = [column("Value")?, column("Percentile")?, column("TotalCount")?];
        let unit = names[columns[0]].split_once('(').map(|(_, unit)| unit.trim_end_matches(')').to_owned());
        (names.len() <= MAX_COLUMNS).then_some(Heading { columns, number: names.len(), unit })
    }

    fn widths(&self) -> std::ops::RangeInclusive<usize> {
        let needed = self.columns.iter().max().map_or(0, |last| last + 1);
        needed.max(self.number - 1)..=self.number
    }
}

/// A line with more words is prose.
const MAX_COLUMNS: usize = 8;

/// Reads every percentile table of a file.
///
/// # Errors
/// [`ImportError`] with the line: no text, no table, or rows that are no numbers or out of order.
///
/// ```
/// # use coretalk_model::formats::read_hgrm;
/// let text = "Value Percentile TotalCount 1/(1-Percentile)\n\n1.5 0.0 1 1.00\n2.5 1.0 4 inf\n";
/// assert_eq!(read_hgrm(text.as_bytes()).unwrap()[0].total(), 4);
/// ```
pub fn read_hgrm(bytes: &[u8]) -> Result<Vec<Spectrum>, ImportError> {
    let text = decode(bytes)?;
    let document = Document::new(&text);
    if document.next_filled(0).is_none() {
        return Err(Problem::Empty.into());
    }
    let mut spectra = Vec::new();
    let mut index = 0;
    while index < document.len() {
        if let Some(heading) = Heading::parse(document.line(index)) {
            let (spectrum, next) = table(&document, index, &heading)?;
            spectra.push(spectrum);
            index = next;
        } else {
            index += 1;
        }
    }
    if spectra.is_empty() {
        return Err(Problem::NoPercentiles.into());
    }
    if spectra.len() > 1 {
        for (number, spectrum) in spectra.iter_mut().enumerate() {
            spectrum.name = Some(format!("table {}", number + 1));
        }
    }
    Ok(spectra)
}

/// Whether the text contains a percentile table.
pub fn holds_percentiles(text: &str) -> bool {
    text.lines().any(is_heading)
}

fn is_heading(line: &str) -> bool {
    Heading::parse(line).is_some()
}

/// Fields between blanks, or between commas if the line has quotes or no blanks.
fn fields(line: &str) -> impl Iterator<Item = &str> {
    let line = line.trim();
    let commas = line.contains('"') || (line.contains(',') && !line.contains([' ', '\t']));
    let split = move |c: char| if commas { c == ',' } else { c.is_whitespace() };
    line.split(split).map(|field| field.trim().trim_matches('"')).filter(|field| !field.is_empty())
}

fn table(document: &Document<'_>, at: usize, heading: &Heading) -> Result<(Spectrum, usize), ImportError> {
    let mut spectrum = Spectrum {
        name: None,
        unit: heading.unit.clone().or_else(|| unit(document, at)),
        is_assumed: false,
        digits: 0,
        rows: Vec::new(),
        mean: None,
        deviation: None,
        warnings: Vec::new(),
    };
    let mut footer = Footer::default();
    let mut commas = false;
    let mut index = at + 1;
    while index < document.len() {
        let line = document.line(index).trim();
        if is_heading(line) {
            break;
        }
        if let Some(comment) = line.strip_prefix('#') {
            footer.read(comment);
        } else if !line.is_empty() {
            match row(line, heading) {
                Some((row, digits, comma)) => {
                    check_order(spectrum.rows.last(), &row).map_err(|problem| problem.at_line(index))?;
                    spectrum.digits = spectrum.digits.max(digits);
                    spectrum.rows.push(row);
                    commas |= comma;
                }
                // An invalid cell inside a table is an error. Other text after the table ends the table.
                None if spectrum.rows.is_empty()
                    || looks_like_row(line, heading)
                    || table_continues_after(document, index, heading, spectrum.rows.last()) =>
                {
                    let why = why_not_a_row(line, heading);
                    return Err(Problem::NotARow { line: line.to_owned(), why }.at_line(index));
                }
                None => break,
            }
        }
        index += 1;
    }
    if spectrum.rows.last().map_or(footer.total, |last| Some(last.count)) == Some(0) {
        let warnings = vec![NO_EVENTS.to_owned()];
        return Ok((Spectrum { rows: Vec::new(), warnings, ..spectrum }, index));
    }
    let Some(last) = spectrum.rows.last().copied() else {
        return Err(Problem::NoRows.at_line(at));
    };
    (spectrum.mean, spectrum.deviation) = (footer.mean, footer.deviation);
    let mut warnings = Vec::new();
    if commas {
        warnings.push("the decimal mark is a comma and was read as one".to_owned());
    }
    if last.share < 1.0 {
        warnings.push(format!(
            "ends at {} %: the file is truncated, so its maximum is unknown",
            last.share * 100.0
        ));
    }
    if let Some(total) = footer.total.filter(|total| *total != last.count) {
        warnings.push(format!("the last row counts {}, the line below the table {total}", last.count));
    }
    // The maximum that tools print is the largest value or the end of its bucket. Both are above the previous row.
    let before = spectrum.rows.iter().rev().map(|row| row.value).find(|value| *value < last.value);
    let fits = |max: f64| max <= last.value && before.is_none_or(|before| max > before);
    if footer.max.is_some_and(|max| last.share >= 1.0 && !fits(max)) {
        warnings.push("the last row and the line below the table disagree about the maximum".to_owned());
    }
    spectrum.warnings = warnings;
    Ok((spectrum, index))
}

fn unit(document: &Document<'_>, heading: usize) -> Option<String> {
    let comments = (0..heading).rev().map(|index| document.line(index).trim());
    let stated =
        comments.take_while(|line| line.starts_with('#')).find_map(|line| line.split_once("Value in "));
    stated.map(|(_, unit)| unit.split_whitespace().next().unwrap_or_default().to_owned())
}

fn row(line: &str, heading: &Heading) -> Option<(SpectrumRow, usize, bool)> {
    let fields: Vec<&str> = fields(line).collect();
    if !heading.widths().contains(&fields.len()) {
        return None;
    }
    let [of_value, of_share, of_count] = heading.columns.map(|column| fields[column]);
    let (value, comma) = number(of_value)?;
    let (share, _) = number(of_share)?;
    let count = of_count.parse().ok()?;
    // The other fields are redundant and only have to be numbers.
    let others_are_numbers = fields
        .iter()
        .all(|field| ["inf", "infinity"].contains(&field.to_lowercase().as_str()) || number(field).is_some());
    let digits = of_value.split(['.', ',']).nth(1).map_or(0, str::len);
    ((0.0..=1.0).contains(&share) && others_are_numbers).then_some((
        SpectrumRow { value, share, count },
        digits,
        comma,
    ))
}

fn number(field: &str) -> Option<(f64, bool)> {
    let comma = field.contains(',');
    let value = if comma { field.replacen(',', ".", 1).parse() } else { field.parse() };
    value.ok().filter(|value: &f64| value.is_finite()).map(|value| (value, comma))
}

fn looks_like_row(line: &str, heading: &Heading) -> bool {
    let begins = line.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    let fields: Vec<&str> = fields(line).collect();
    let numbers = fields.len() > 1 && fields.iter().all(|field| number(field).is_some());
    numbers || (begins && heading.widths().contains(&fields.len()))
}

fn table_continues_after(
    document: &Document<'_>,
    index: usize,
    heading: &Heading,
    before: Option<&SpectrumRow>,
) -> bool {
    let later_lines = (index + 1..document.len()).map(|index| document.line(index).trim());
    let mut of_table = later_lines.take_while(|line| !line.starts_with('#') && !is_heading(line));
    of_table.any(|line| row(line, heading).is_some_and(|(row, ..)| check_order(before, &row).is_ok()))
}

fn why_not_a_row(line: &str, heading: &Heading) -> String {
    let fields: Vec<&str> = fields(line).collect();
    let [value, percentile, count] = heading.columns.map(|column| fields.get(column).copied());
    let share = |field: &str| number(field).filter(|(share, _)| (0.0..=1.0).contains(share));
    match (value, percentile, count) {
        (Some(value), ..) if number(value).is_none() => format!("its value `{value}` is not a number"),
        (_, Some(percentile), _) if share(percentile).is_none() => {
            format!("its percentile `{percentile}` is not between 0 and 1")
        }
        (.., Some(count)) if count.parse::<u64>().is_err() => {
            format!("its count `{count}` is not a whole number")
        }
        _ if heading.widths().contains(&fields.len()) => "its last field is not a number".to_owned(),
        _ => {
            let (least, most) = heading.widths().into_inner();
            let expected = if least == most { most.to_string() } else { format!("{least} or {most}") };
            format!("it has {} fields, expected {expected}", fields.len())
        }
    }
}

fn check_order(before: Option<&SpectrumRow>, row: &SpectrumRow) -> Result<(), Problem> {
    let Some(before) = before else { return Ok(()) };
    let falls = |what| Err(Problem::OutOfOrder { what });
    if row.value < before.value {
        return falls("value");
    }
    if row.share < before.share {
        return falls("percentile");
    }
    if row.count < before.count {
        return falls("count");
    }
    Ok(())
}

#[derive(Default)]
struct Footer {
    mean: Option<f64>,
    deviation: Option<f64>,
    max: Option<f64>,
    total: Option<u64>,
}

impl Footer {
    /// `[Mean    =       92.682, StdDeviation   =      262.259]`
    fn read(&mut self, comment: &str) {
        let Some(inner) = comment.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
            return;
        };
        // A comma before a blank is a separator. Any other comma is a decimal mark.
        for part in inner.split(", ") {
            let Some((name, value)) = part.split_once('=') else { continue };
            let value = value.trim();
            let decimal = || number(value).map(|(value, _)| value);
            match name.trim() {
                "Mean" => self.mean = decimal(),
                "StdDeviation" => self.deviation = decimal(),
                "Max" => self.max = decimal(),
                "Total count" => self.total = value.parse().ok(),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Histogram;
    use crate::formats::hgrm::{HgrmCount, HgrmStyle, Percentile, write_counts, write_hgrm};

    const HEAD: &str = "Value Percentile TotalCount 1/(1-Percentile)\n\n";

    #[test]
    fn written_tables_read_back_exactly() {
        let mut histogram = Histogram::new();
        for event in 0..20_000u64 {
            histogram.record_ns(40.0 + (event * event % 977) as f64 / 7.0, 1 + event % 3);
        }
        let style = HgrmStyle::default();
        let text = write_hgrm(&histogram, &style, &["x; Value in ns".to_owned()]);
        let head = "#x; Value in ns\n       Value     Percentile TotalCount 1/(1-Percentile)\n\n";
        assert!(text.starts_with(head), "{text}");
        assert_eq!(write_counts(&[], &style, &[]).lines().count(), 5);
        let spectra = read_hgrm(text.as_bytes()).unwrap();
        let [read] = spectra.as_slice() else { panic!("{spectra:?}") };
        assert_eq!((read.unit.as_deref(), read.digits, read.total()), (Some("ns"), 3, histogram.count()));
        assert!(read.warnings.is_empty(), "{:?}", read.warnings);
        // The rows that the common plotter selects: four numbers between blanks, no `#` at the start.
        let numbers = |line: &str| -> Option<[f64; 4]> {
            let numbers: Result<Vec<f64>, _> = line.split_whitespace().map(str::parse).collect();
            numbers.ok()?.try_into().ok()
        };
        let plotted: Vec<[f64; 4]> = text.lines().filter_map(numbers).collect();
        assert_eq!(plotted.len() + 1, read.rows.len(), "the last row has three columns and drops out");
        for (plotted, row) in plotted.iter().zip(&read.rows) {
            assert_eq!([plotted[0], plotted[1], plotted[2]], [row.value, row.share, row.count as f64]);
        }
        // Writing the parsed counts again gives the same rows.
        let mut seen = 0;
        let mut counts = Vec::new();
        for row in read.rows.iter().filter(|row| row.count > 0) {
            if row.count > seen {
                counts.push(HgrmCount { highest: row.value, middle: row.value, count: row.count - seen });
                seen = row.count;
            }
        }
        let rewritten = write_counts(&counts, &HgrmStyle { scale: 1.0, ..style }, &[]);
        let rows = |text: &str| -> Vec<String> {
            text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
        };
        assert_eq!(rows(&rewritten), rows(&text));
    }

    #[test]
    fn variants_of_other_tools_are_understood() {
        let cut = format!("{HEAD}1.00 0.0 1 1.00\n2.00 0.5 2 2.00\n");
        assert!(read_hgrm(cut.as_bytes()).unwrap()[0].warnings[0].contains("truncated"));
        let comma = format!(
            "{HEAD}1,25 0,0 1 1,00\n2,00 1,000000 2\n#[Max     =         2,00, Total count    =            3]"
        );
        let read = &read_hgrm(comma.as_bytes()).unwrap()[0];
        assert_eq!((read.rows[0].value, read.digits, read.warnings.len()), (1.25, 2, 2), "{read:?}");
        let quoted = "\"Value\",\"Percentile\",\"TotalCount\",\"1/(1-Percentile)\"\n0.1,0.0,1,1.00\n0.9,1.0,10,Infinity\n";
        assert_eq!(read_hgrm(quoted.as_bytes()).unwrap()[0].total(), 10);
        let prose = format!(
            "Running\n  {HEAD}  1.0 0.0 1 1.0\n  2.0 1.0 9 inf\n  #[Mean    =        1.500, StdDeviation   =        0.500]\nDone, 9 requests\n {HEAD}3.0 1.0 4 inf\n"
        );
        let read = read_hgrm(prose.as_bytes()).unwrap();
        assert_eq!((read.len(), read[0].mean, read[1].total()), (2, Some(1.5), 4));
    }

    #[test]
    fn columns_are_found_by_name_and_empty_tables_have_no_values() {
        for table in [
            "Value(ms)  Percentile  TotalCount  1/(1-Percentile)\n0.2 0.5 50 2.0\n0.9 1.000000 100 10000000.0\n",
            "Value (ms) Percentile TotalCount AboveCount 1/(1-Percentile)\n0.2 0.5 50 50 2.0\n0.9 1.0 100 0\n",
            "\"TotalCount\",\"Value(ms)\",\"Percentile\"\n50,0.2,0.5\n100,0.9,1.0\n",
        ] {
            let read = &read_hgrm(table.as_bytes()).unwrap()[0];
            assert_eq!((read.unit.as_deref(), read.total()), (Some("ms"), 100), "{table}");
            assert_eq!(read.percentile(1.0), Some(Percentile::Exact(0.9)));
        }
        // With few decimals, the maximum is the last of several rows at 100 %.
        let rounded = format!("{HEAD}1.0 0.500000 50 2.0\n2.0 1.000000 99 1e7\n9.0 1.000000 100\n");
        assert_eq!(read_hgrm(rounded.as_bytes()).unwrap()[0].percentile(1.0), Some(Percentile::Exact(9.0)));
        let footer = "#[Mean    =         -nan, StdDeviation   =         -nan]\n#[Max     =        0.000, Total count    =            0]\n";
        for rows in ["0.000 1.000000 0 inf\n", ""] {
            let read = &read_hgrm(format!("{HEAD}{rows}{footer}").as_bytes()).unwrap()[0];
            assert_eq!((read.percentile(1.0), read.mean, read.warnings.len()), (None, None, 1), "{read:?}");
        }
    }

    #[test]
    fn invalid_tables_are_refused_with_their_line() {
        let decreasing = "is lower than in the previous row";
        for (text, line, part) in [
            ("", None, "empty"),
            ("1 2 3 4\n", None, "no percentile table"),
            ("HEAD", Some(1), "no row"),
            ("HEAD2.0 0.1 1 1.1\n1.0 0.2 2 1.2\n", Some(4), &format!("the value {decreasing}")),
            ("HEAD1.0 0.5 1 2.0\n1.0 0.2 2 1.2\n", Some(4), &format!("the percentile {decreasing}")),
            ("HEAD1.0 0.1 1 1.1\n1.0 soon 2 1.2\n", Some(4), "soon"),
            ("HEADNaN 0.1 1 1.1\n", Some(3), "its value `NaN` is not a number"),
            ("HEAD1.0 0.1 1 1.1\n2.0 0.2\n3.0 1.0 3\n", Some(4), "it has 2 fields, expected 3 or 4"),
            ("HEAD1.0 0.1 1 1.1\n2.0 0.2 2 1.2 7\n", Some(4), "it has 5 fields, expected 3 or 4"),
            ("HEAD1.0 0.1 1 1.1\nx 0.2 2 1.2\n3.0 1.0 3\n", Some(4), "its value `x` is not a number"),
            ("HEAD1.0 0.1 1 1.1\n2.0 1.2 2 1.2\n", Some(4), "`1.2` is not between 0 and 1"),
            ("HEAD1.0 0.1 1 1.1\n2.0 0.2 -2 1.2\n", Some(4), "`-2` is not a whole number"),
        ] {
            let error = read_hgrm(text.replace("HEAD", HEAD).as_bytes()).unwrap_err();
            assert_eq!(error.line, line, "{text:?}: {error}");
            assert!(error.to_string().contains(part), "{text:?}: {error}");
        }
    }

    #[test]
    fn percentiles_between_rows_are_bounds() {
        let text = format!("{HEAD}1.0 0.0 1 1.0\n1.0 0.5 50 2.0\n2.0 0.75 75 4.0\n9.0 1.0 100\n");
        let read = &read_hgrm(text.as_bytes()).unwrap()[0];
        assert_eq!(read.percentile(0.5), Some(Percentile::Exact(1.0)));
        assert_eq!(read.percentile(0.6), Some(Percentile::AtMost(2.0)));
        assert_eq!((read.percentile(1.0), read.percentile(0.9999)), (Some(Percentile::Exact(9.0)), None));
    }
}
