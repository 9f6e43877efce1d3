//! `import`: shows or converts matrices of other tools.

use crate::args::ImportArgs;
use crate::args::options::Global;
use crate::exit::{ExitCode, Failure};
use crate::resolve::files;
use crate::resolve::output::{self, Verbosity, print_notice};
use crate::run::out::Out;
use coretalk_model::formats::{ImportedMatrix, Spread, write_c2c_csv, write_csv, write_markdown};
use coretalk_model::latency::summary::PairReading;
use coretalk_report::blocks::Block;
use coretalk_report::blocks::value::{DisplayUnit, DisplayValue, MapSource, Number, Sentence, Source};
use coretalk_report::document::Document;
use coretalk_report::export::Format;
use coretalk_report::heat_map::PairMap;
use coretalk_report::imported::ImportedFile;
use coretalk_report::render::terminal;
use coretalk_report::{Style, lint, structure};
use std::borrow::Cow;
use std::path::Path;

/// Reads every file first. Unreadable files do not stop the others; the final error names them.
pub fn execute(global: &Global, args: &ImportArgs) -> Result<ExitCode, Failure> {
    let options = output::options(global);
    let (imported, refused) = files::matrices_of_all(&args.files)?;
    let outcome = refused.map_or(Ok(ExitCode::Done), Err);
    for (file, matrix) in &imported {
        for warning in &matrix.warnings {
            print_notice(options.verbosity, Verbosity::Normal, &format!("{}: {warning}", file.display()));
        }
    }
    let is_single = matches!(options.format, Format::Csv | Format::C2cCsv);
    if is_single && imported.len() > 1 {
        let format = options.format;
        let sentence = format!(
            "`{format}` can contain only one matrix, and there are {}; convert them one at a time",
            imported.len()
        );
        return Err(Failure::Format { format, sentence });
    }
    if options.format == Format::Json {
        let document = Document::of_imported(imported.iter().map(|(_, matrix)| matrix));
        Out::open(options.output.as_deref())?.write(|out| Ok(document.write_to(out)?))?;
        return outcome;
    }
    let style = output::style(&options);
    let mut text = String::new();
    for (file, matrix) in &imported {
        text.push_str(&match options.format {
            Format::Text => screen(file, matrix, &style),
            Format::Csv => write_csv(&matrix.matrix, matrix.unit, &matrix.metadata),
            Format::C2cCsv => write_c2c_csv(&matrix.matrix),
            Format::Markdown => write_markdown(&matrix.matrix, matrix.unit) + "\n",
            format => {
                let holds = match format {
                    Format::Hgrm => "a distribution of single events",
                    _ => "single passes and trials",
                };
                let sentence = format!(
                    "`{format}` contains {holds}, and an imported matrix has none; use `coretalk import {} --format json`, csv, c2c-csv or markdown",
                    file.display()
                );
                return Err(Failure::Format { format, sentence });
            }
        });
    }
    Out::open(options.output.as_deref())?.text(&text)?;
    outcome
}

fn screen(file: &Path, imported: &ImportedMatrix, style: &Style) -> String {
    let head = lint::head(&file.display().to_string(), imported, Source::Listed);
    let readings = imported.matrix.map(|cell| cell.map(|ns| PairReading { ns, doubtful: ns <= 0.0 }));
    let imported_file = ImportedFile::new(String::new(), vec![imported.clone()]);
    let source = MapSource::Kernel("unknown".to_owned());
    let map = PairMap::new(Cow::Owned(readings), imported_file.groups(), source);
    let map = Block::sketch(move |style| map.draw(style).0);
    let mut blocks = vec![Block::Headline(head)];
    blocks.extend(imported_file.origin().map(Block::Headline));
    blocks.extend([Block::Gap, map, Block::Gap]);
    if let Some(Spread { least, median, most, values }) = imported.spread() {
        let value = |number| DisplayValue {
            number: Number::Point(number),
            unit: DisplayUnit::Decimals(1),
            source: Source::Unrecorded,
        };
        let template = "{least} to {most} {unit}, median {median} {unit}, {number} value{s}.";
        let sentence = Sentence::pluralized(template, DisplayValue::listed(values))
            .with("least", value(least))
            .with("most", value(most))
            .with("median", value(median))
            .with("unit", imported.unit.name());
        blocks.push(Block::Prose(sentence));
    }
    blocks.extend(
        imported_file.findings().into_iter().flat_map(|found| structure::blocks(found, imported.unit.name())),
    );
    terminal::screen(&blocks, style)
}
