//! Escaping of untrusted text, so that it cannot become markup or script, or end a data block.

use crate::text::plain;

/// Escapes text for an element or a quoted attribute. Markup is escaped. Control characters and marks that change the
/// direction of text are replaced.
///
/// ```
/// # use coretalk_report::html::escape::escaped;
/// assert_eq!(escaped("</script> \"A\" & 'B'\u{202e}"), "&lt;/script&gt; &quot;A&quot; &amp; &#39;B&#39;\u{fffd}");
/// ```
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Escapes JSON for a `script` element: `<` becomes `\u003c`, so that no text ends the block. The values stay the same.
pub fn json_block(json: &str) -> String {
    json.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_block_content_cannot_end_the_block_and_reads_back() {
        let hostile = serde_json::json!({ "label": "</script><img src=x onerror=alert(1)><!--" });
        let block = json_block(&hostile.to_string());
        assert!(!block.contains('<'));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&block).unwrap(), hostile);
    }
}
