//! The HTML report: a self-contained file for one or several runs.
//!
//! Text, tables and curves are rendered here. The script of the page draws the heat map from data blocks. The content
//! security policy permits only this script, the style and these blocks, by their hashes.

pub mod data;
pub mod escape;
mod lead;
mod machine;
mod section;
mod sections;
pub mod series;
mod several;
mod spectra;

use super::difference::Differing;
use super::input::{Drawing, ReportInput};
use super::spectra::SpectrumView;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use escape::{escaped, json_block};
use section::Section;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;

const PAGE: &str = include_str!("html/report.html");
const STYLE: &str = include_str!("html/report.css");
const SCRIPTS: [&str; 6] = [
    include_str!("html/data.js"),
    include_str!("html/colors.js"),
    include_str!("html/picture.js"),
    include_str!("html/viewer.js"),
    include_str!("html/table.js"),
    include_str!("html/page.js"),
];

/// The page of one or several runs, in the given order.
///
/// # Errors
/// An error of the serializer, which does not occur for documents of runs.
pub fn page(inputs: &[ReportInput<'_>], drawing: Drawing) -> serde_json::Result<String> {
    let mut blocks = String::new();
    let mut hashes = Vec::new();
    let mut block = |id: &str, json: &str| {
        let content = json_block(json);
        hashes.push(hash(&content));
        let _ = writeln!(blocks, "<script type=\"application/json\" id=\"{id}\">{content}</script>");
    };
    let differing = Differing::from_inputs(inputs);
    block("view", &data::view(inputs, differing.as_ref(), drawing)?);
    for (index, input) in inputs.iter().enumerate() {
        block(&format!("data-{index}"), &document(input)?);
    }
    let script = SCRIPTS.concat();
    hashes.insert(0, hash(&script));
    let parts = sections(inputs, differing.as_ref());
    let scripts = format!("{blocks}<script>{script}</script>\n");
    Ok(assembled(&title(inputs), header(inputs), &parts, &scripts, &hashes))
}

/// The page of distributions from files; it contains no script.
pub fn page_of_spectra(views: &[SpectrumView]) -> String {
    assembled(&spectra::title(views), spectra::header(views), &spectra::sections(views), "", &[])
}

/// Fills the template. The scripts follow the section of the maps, so that maps are drawn before the rest is parsed.
fn assembled(title: &str, header: String, parts: &[Section], scripts: &str, hashes: &[String]) -> String {
    let maps = parts.iter().position(|part| part.id == section::MAPS).map_or(parts.len(), |at| at + 1);
    let html = |parts: &[Section]| parts.iter().map(Section::html).collect();
    let fill = [
        ("{policy}", policy(hashes)),
        ("{version}", env!("CARGO_PKG_VERSION").to_owned()),
        ("{title}", escaped(title)),
        ("{style}", STYLE.to_owned()),
        ("{header}", header),
        ("{contents}", contents(parts)),
        ("{before}", html(&parts[..maps])),
        ("{scripts}", scripts.to_owned()),
        ("{after}", html(&parts[maps..])),
    ];
    filled(PAGE, &fill)
}

fn policy(hashes: &[String]) -> String {
    let scripts = if hashes.is_empty() { "'none'".to_owned() } else { hashes.join(" ") };
    let style = hash(STYLE);
    format!(
        "default-src 'none'; script-src {scripts}; style-src {style}; base-uri 'none'; form-action 'none'"
    )
}

fn hash(content: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(content.as_bytes())))
}

/// Replaces all placeholders in one pass: inserted text is never searched for placeholders.
fn filled(template: &str, fill: &[(&str, String)]) -> String {
    let mut page =
        String::with_capacity(template.len() + fill.iter().map(|(_, text)| text.len()).sum::<usize>());
    let mut rest = template;
    let next = |rest: &str| {
        fill.iter()
            .filter_map(|(placeholder, text)| Some((rest.find(placeholder)?, *placeholder, text)))
            .min_by_key(|(at, ..)| *at)
    };
    while let Some((at, placeholder, text)) = next(rest) {
        page.push_str(&rest[..at]);
        page.push_str(text);
        rest = &rest[at + placeholder.len()..];
    }
    page.push_str(rest);
    page
}

fn document(input: &ReportInput<'_>) -> serde_json::Result<String> {
    if input.is_exact() {
        let mut bytes = Vec::new();
        input.outline.write_to(&mut bytes).map_err(serde::ser::Error::custom)?;
        return String::from_utf8(bytes).map_err(serde::ser::Error::custom);
    }
    let parts: BTreeMap<String, Value> = serde_json::from_value(serde_json::to_value(&input.outline)?)?;
    let parts = parts.iter().map(|(name, part)| match name.as_str() {
        "series" => Ok(format!("\"series\":{}", data::series(&input.outline.series)?)),
        _ => Ok(format!("\"{name}\":{part}")),
    });
    Ok(format!("{{{}}}", parts.collect::<serde_json::Result<Vec<String>>>()?.join(",")))
}

fn title(inputs: &[ReportInput<'_>]) -> String {
    let machines: Vec<String> = inputs
        .iter()
        .map(|input| [input.marks().join(" "), input.machine()].join(" ").trim().to_owned())
        .collect();
    match machines.as_slice() {
        [one] => format!("{one} · coretalk"),
        [one, other] => format!("{one} and {other} · coretalk"),
        _ => format!("{} · coretalk", several_words(inputs)),
    }
}

fn several_words(inputs: &[ReportInput<'_>]) -> String {
    let files = inputs.iter().filter(|input| input.file().is_some()).count();
    let what = match files {
        0 => "runs",
        some if some == inputs.len() => "files",
        _ => "runs and files",
    };
    format!("{} {what}", inputs.len())
}

fn header(inputs: &[ReportInput<'_>]) -> String {
    let mut html = String::from("<header>\n");
    match inputs {
        [input] => {
            html.push_str(&marks(input));
            let _ = write!(html, "<h1>{}</h1>\n<p class=\"about\">", escaped(&input.machine()));
            let _ = writeln!(html, "{}</p>", escaped(&input.about()));
            html.push_str(&lead::lead(input));
        }
        several => {
            let _ = writeln!(html, "<h1>{}</h1>\n<ol>", escaped(&several_title(several)));
            for input in several {
                let _ = writeln!(
                    html,
                    "<li>{}<strong>{}</strong> <span class=\"about\">{}</span></li>",
                    marks(input),
                    escaped(&input.machine()),
                    escaped(&match input.file() {
                        Some(_) => input.about(),
                        None => [input.about(), format!("run {}", input.name)].join(" · "),
                    })
                );
            }
            html.push_str("</ol>\n");
            html.push_str(&several::mixed(several));
        }
    }
    html.push_str("</header>");
    html
}

fn several_title(inputs: &[ReportInput<'_>]) -> String {
    match inputs {
        [one, other] => format!("{} and {}", one.machine(), other.machine()),
        several => format!("{} side by side", several_words(several)),
    }
}

fn marks(input: &ReportInput<'_>) -> String {
    let marks: String = input.marks().iter().map(|mark| format!("<span>{mark}</span>")).collect();
    if marks.is_empty() { marks } else { format!("<p class=\"marks\">{marks}</p>") }
}

fn contents(parts: &[Section]) -> String {
    let links = parts
        .iter()
        .filter(|part| part.is_linked)
        .map(|part| format!("<li><a href=\"#{}\">{}</a></li>", part.id, escaped(&part.title)));
    format!("<nav aria-label=\"Contents\"><ul>{}</ul></nav>", links.collect::<String>())
}

fn sections(inputs: &[ReportInput<'_>], differing: Option<&Differing<'_>>) -> Vec<Section> {
    let [input] = inputs else { return several::sections(inputs, differing) };
    let mut parts = sections::results(input, None, sections::Maps::Here);
    parts.extend(machine::sections(input, None));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_match_the_csp_specification() {
        // From the example of hash usage in the specification of Content Security Policy Level 3.
        assert_eq!(hash("alert('Hello, world.');"), "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='");
    }

    #[test]
    fn inserted_text_is_not_searched_for_placeholders() {
        let fill = [("{a}", "{b}".to_owned()), ("{b}", "x".to_owned())];
        assert_eq!(filled("1{a}2{b}3", &fill), "1{b}2x3");
    }

    #[test]
    fn page_sources_make_no_external_requests() {
        for text in SCRIPTS.into_iter().chain([PAGE, STYLE]) {
            for word in
                ["http:", "https:", "//cdn", "src=", "@import", "url(", "fetch(", "XMLHttpRequest", "eval("]
            {
                let names_svg = text.matches("http://www.w3.org/2000/svg").count();
                let found = text.matches(word).count();
                assert!(found == 0 || (word == "http:" && found == names_svg), "`{word}` in {}", &text[..60]);
            }
        }
    }
}
