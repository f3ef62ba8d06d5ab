//! Templates: texts with `@WORDS@` to fill in.

/// The template with every `@WORD@` replaced.
///
/// # Panics
/// When the template has a word that is not among `words`: a mistake in this
/// program, which any export shows.
pub fn fill(template: &str, words: &[(&'static str, String)]) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('@') {
        text += before;
        let word = after.split_once('@').filter(|(word, _)| is_word(word));
        if let Some((word, tail)) = word {
            let found = words.iter().find(|(name, _)| *name == word);
            text += &found.unwrap_or_else(|| panic!("no word @{word}@ for the template")).1;
            rest = tail;
        } else {
            text.push('@');
            rest = after;
        }
    }
    text + rest
}

fn is_word(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|c| c.is_ascii_uppercase() || c == b'_')
}

#[cfg(test)]
mod tests {
    use super::fill;

    #[test]
    fn words_are_filled_in_and_other_signs_stay() {
        let words = [("A", "1".to_owned()), ("B_C", "@A@".to_owned())];
        assert_eq!(fill("x@A@y @(posedge clk) @B_C@@A@ @", &words), "x1y @(posedge clk) @A@1 @");
    }

    #[test]
    #[should_panic(expected = "no word @D@")]
    fn unknown_words_are_noticed() {
        fill("@D@", &[]);
    }
}
