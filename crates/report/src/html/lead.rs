//! The top of a page: the answer in a sentence and three numbers, and one line for the finding of each probe.

use super::escape::escaped;
use crate::answer::{self, Answer, KeyNumber};
use crate::best::{self, bare_title};
use crate::figure::key_numbers::{answer_of, key_numbers, main_map, said_of};
use crate::fmt;
use crate::fmt::digits::{count, short_ns, with_letter};
use crate::input::{Map, ReportInput};
use crate::parameters::explanation;
use crate::render::html::blocks;
use crate::text::plain;
use crate::trial_words::question_text;
use crate::{Saved, findings, place, series};
use coretalk_model::findings::Finding;
use coretalk_model::latency::summary::{by_relation, class_pairs};
use coretalk_model::probes;
use coretalk_model::quantity::{Aggregate, Better, Quantity, Unit};
use coretalk_model::run::{RunReport, SeriesReport};
use coretalk_model::series::{Gathering, Ranking, RankingVerdict, Subject};
use std::fmt::Write;

/// Maximum number of subjects in a line; tables list all subjects.
const MAX_NAMED: usize = 3;
const MAX_LARGE: usize = 3;
/// Maximum length of a meaning in a caption; tables show longer ones.
const MAX_MEANING: usize = 50;

struct Tile {
    value: String,
    unit: String,
    range: String,
    words: String,
}

/// The lead of a page, or of one run on a page of several; empty without results.
pub(super) fn lead(input: &ReportInput<'_>) -> String {
    let mut html = String::new();
    let map = main_map(input);
    let answer = map.and_then(|map| answer_of(input, map));
    let run = input.run();
    let sentence = answer.as_ref().map(|answer| fmt::sentence(&answer.sentence));
    let sentence = sentence.or_else(|| said_of(run.filter(|report| report.place.is_none())?));
    let sentence =
        sentence.or_else(|| series::answer(run?, run?.series.as_ref()?).as_ref().map(fmt::sentence));
    if let Some(sentence) = sentence {
        let _ = writeln!(html, "<p class=\"lede\">{}</p>", escaped(&sentence));
    }
    if let Some(tail) = run.and_then(RunReport::latencies).and_then(|result| answer::tail(&result.tails)) {
        let _ = writeln!(html, "<p>{}</p>", escaped(&fmt::sentence(&tail)));
    }
    let is_of_map = answer.is_some() || input.file().is_some();
    if let Some(map) = map.filter(|_| is_of_map) {
        html.push_str(&tiles(&map_tiles(input, map, answer.as_ref())));
    }
    let advice = run.filter(|_| is_of_map).and_then(|report| answer::what_to_do(report, Saved::Not));
    html.push_str(&blocks(advice.as_slice()));
    let series = run.and_then(|report| report.series.as_ref());
    let is_quick_look = |series: &&SeriesReport| series.settings.gathering() == Some(Gathering::QuickLook);
    if let Some((report, series)) = run.zip(series.filter(|series| !is_quick_look(series))) {
        html.push_str(&probe_results(report, series));
    }
    if let Some(place) = run.and_then(|report| report.place.as_ref()) {
        let of_work = place::headlines(place).map(|(_, headline)| {
            (escaped(&headline.comparison.work), escaped(&fmt::sentence(&place::answer(place, headline))))
        });
        html.push_str(&answers(of_work));
    }
    html
}

fn tiles(tiles: &[Tile]) -> String {
    let tile = |Tile { value, unit, range, words }: &Tile| {
        format!(
            "<div><dt>{}</dt><dd>{} <small>{}</small></dd><dd class=\"range\">{}</dd></div>",
            escaped(words),
            escaped(value),
            escaped(unit),
            escaped(range)
        )
    };
    match tiles {
        [] => String::new(),
        some => format!("<dl class=\"tiles\">{}</dl>\n", some.iter().map(tile).collect::<String>()),
    }
}

fn answers(found: impl Iterator<Item = (String, String)>) -> String {
    let rows: String =
        found.map(|(question, answer)| format!("<dt>{question}</dt><dd>{answer}</dd>")).collect();
    if rows.is_empty() { rows } else { format!("<dl class=\"answers\">{rows}</dl>\n") }
}

fn map_tiles(input: &ReportInput<'_>, map: &Map, answer: Option<&Answer>) -> Vec<Tile> {
    let latencies = map.index.and_then(|index| input.latencies().get(index));
    // The numbers of the answer are medians of these rows.
    let rows = latencies.map_or_else(Vec::new, |map| {
        let kinds = class_pairs(map, input.topology());
        let kinds = kinds.into_iter().map(|of| (of.median_ns, of.range_ns, of.pairs));
        let relations = by_relation(map, input.topology());
        kinds.chain(relations.into_iter().map(|of| (of.median_ns, of.range_ns, of.pairs))).collect()
    });
    let numbers = key_numbers(input, map, answer);
    let range = |ns: f64| {
        let (_, range, pairs) = *rows.iter().find(|(median, _, pairs)| *median == ns && *pairs > 1)?;
        let [low, high] = range.map(short_ns);
        let pairs = count(pairs, "pair");
        Some(if low == high { pairs } else { format!("{low} to {high} over {pairs}") })
    };
    let tile = |number: &KeyNumber| Tile {
        value: with_letter(number.ns),
        unit: map.unit.clone(),
        range: range(number.ns).unwrap_or_default(),
        words: number.words.clone(),
    };
    numbers.iter().map(tile).collect()
}

/// One line per probe; for a single probe, its best subjects as large numbers.
fn probe_results(report: &RunReport, series: &SeriesReport) -> String {
    let probes = &series.settings.probes;
    let condition = |ranking: &Ranking<'_>| {
        best::condition(report, ranking).iter().map(fmt::sentence).collect::<Vec<_>>().join(", ")
    };
    if let [name] = &probes[..] {
        // Other findings (padding, batches, rates) have no best number.
        let Some(Finding::Ranked(ranking)) = findings::of_probe(report, series, name).map(|of| of.finding)
        else {
            return String::new();
        };
        if ranking.subjects.is_empty() {
            return String::new();
        }
        let condition = condition(&ranking);
        let tile = |subject: &Subject<'_>| {
            let [value, unit] = value_and_unit(ranking.quantity, subject);
            let words = match (subject.name.as_str(), condition.as_str()) {
                ("", "") => fmt::sentence(&bare_title(ranking.quantity)),
                ("", condition) => condition.to_owned(),
                (name, _) => plain(name),
            };
            Tile { value, unit, range: uncertainty(ranking.quantity, subject), words }
        };
        let shown: Vec<Tile> = ranking.subjects.iter().take(MAX_LARGE).map(tile).collect();
        return tiles(&shown)
            + &format!("<p class=\"note\">{}</p>\n", escaped(&caption(&ranking, &condition)));
    }
    answers(probes.iter().filter_map(|name| {
        let ranking = best::of_probe(report, series, name).filter(|ranking| !ranking.subjects.is_empty())?;
        let asked = probes::declaration(name)
            .map_or_else(|| plain(name), |probe| fmt::sentence(&question_text(probe)));
        let subject_html = |subject: &Subject<'_>| {
            format!(
                "<strong>{}</strong> {} {}",
                escaped(value_and_unit(ranking.quantity, subject).join(" ").trim_end()),
                escaped(&uncertainty(ranking.quantity, subject)),
                escaped(&plain(&subject.name))
            )
        };
        let mut found =
            ranking.subjects.iter().take(MAX_NAMED).map(subject_html).collect::<Vec<_>>().join(" · ");
        if ranking.subjects.len() > MAX_NAMED {
            let _ = write!(found, " · {} more", ranking.subjects.len() - MAX_NAMED);
        }
        let caption = caption(&ranking, &condition(&ranking));
        let _ = write!(found, " <span class=\"note\">({})</span>", escaped(&caption));
        Some((format!("<a href=\"#found-{}\">{}</a>", escaped(name), escaped(&asked)), found))
    }))
}

fn value_and_unit(quantity: &Quantity, subject: &Subject<'_>) -> [String; 2] {
    let [value, unit] = fmt::point(&best::value_of(quantity, subject));
    let symbol = if let Unit::PerSecond(_) = quantity.unit { quantity.unit.symbol() } else { "".into() };
    [value, format!("{unit} {symbol}").trim().to_owned()]
}

fn uncertainty(quantity: &Quantity, subject: &Subject<'_>) -> String {
    let qualifiers =
        best::qualifiers(subject).iter().map(|part| format!(" {}", fmt::sentence(part))).collect::<String>();
    fmt::interval(&best::value_of(quantity, subject)) + &qualifiers
}

fn caption(ranking: &Ranking<'_>, condition: &str) -> String {
    let quantity = ranking.quantity;
    let title = match quantity.aggregate {
        Aggregate::Events => format!("{}, median", quantity.title),
        _ => fmt::sentence(&bare_title(quantity)),
    };
    let meaning =
        explanation(quantity).as_ref().map(fmt::sentence).filter(|meaning| meaning.len() <= MAX_MEANING);
    let meaning = meaning.map_or(String::new(), |meaning| format!(": {meaning}"));
    // A title that only repeats the unit is left out.
    let what = Some(title + &meaning).filter(|what| *what != quantity.unit.symbol());
    let order = match (&ranking.verdict, quantity.better) {
        (RankingVerdict::Single, _) => "",
        (RankingVerdict::Alike, _) => "alike within their intervals",
        (RankingVerdict::CannotTell(_), _) => "cannot tell which is best",
        (_, Some(Better::Higher)) => "highest first",
        _ => "lowest first",
    };
    let not_ranked = best::not_ranked(ranking).as_ref().map(fmt::sentence).unwrap_or_default();
    let parts = [what.unwrap_or_default(), condition.to_owned(), order.to_owned(), not_ranked];
    let shown: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    shown.join("; ")
}
