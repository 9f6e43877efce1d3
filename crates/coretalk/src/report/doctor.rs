//! The view of `doctor`: a line for each check, the grave ones first, each with the command that would fix it.

use super::text::plain;
use crate::blocks::{Block, Cell, Column, Table};
use coretalk_model::{Finding, Verdict};

/// Every finding, by falling gravity, and a last line that counts them.
pub fn blocks(findings: &[Finding]) -> Vec<Block<'static>> {
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
    let mut table = Table::new(["", "", ""].map(Column::words));
    for finding in &sorted {
        let mut text = plain(&finding.text);
        if let Some(fix) = &finding.fix {
            text = format!("{}. Fix: {}", text.trim_end_matches('.'), plain(fix));
        }
        table.row([Cell::from(word(finding.verdict)), plain(&finding.id).into(), text.into()]);
    }
    let of = |verdict| sorted.iter().filter(|finding| finding.verdict == verdict).count();
    let mut parts = Vec::new();
    for (verdict, words) in [
        (Verdict::Fail, "failed: numbers would be wrong or cannot be had"),
        (Verdict::Warn, "to know: numbers are valid, but may be worse than the hardware allows"),
        (Verdict::CannotTell, "could not be checked here"),
        (Verdict::Ok, "fine"),
    ] {
        if of(verdict) > 0 {
            parts.push(format!("{} {words}", of(verdict)));
        }
    }
    if parts.is_empty() {
        parts.push("nothing was checked".to_owned());
    }
    let counted = format!("{}.", parts.join("; "));
    let unchanged = "Nothing was changed.".to_owned();
    vec![Block::Table(table), Block::Gap, Block::Prose(counted), Block::Prose(unchanged)]
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Ok => "  ok",
        Verdict::CannotTell => "? cannot tell",
        Verdict::Warn => "! warn",
        Verdict::Fail => "✗ fail",
    }
}
