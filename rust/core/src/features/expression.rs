//! Reading an expression: text to tree, or a sentence that names the place and what was expected.
//!
//! ```text
//! sum     = product { "+" product }              also ⊕
//! product = factor { "*" factor }                also ×
//! factor  = ( word | "(" sum ")" | mirror "(" sum ")" ) [ "[" numbers "]" ]
//! word    = block or named set, with "_" and the letter of a subject; P unless stated
//! mirror  = MIRRORH | MIRRORV | MIRRORHV
//! numbers = number or first-last, ascending, with commas: the features to keep
//! ```

use std::fmt;
use std::sync::Arc;

use super::block::{Atom, BLOCKS, Block, Mirror, SUBJECTS, Subject};
use super::named::{self, NAMED};
use super::tree::{Node, Selection};

/// No set may have more features than this.
pub const MOST_FEATURES: u64 = 1 << 24;
const MOST_PRODUCTS: u64 = 64;
const MOST_SUBJECTS: usize = 3;
const DEEPEST: usize = 32;
const MIRRORS: [(&str, Mirror); 3] = [
    ("MIRRORH", Mirror { files: true, ranks: false }),
    ("MIRRORV", Mirror { files: false, ranks: true }),
    ("MIRRORHV", Mirror { files: true, ranks: true }),
];

/// What is wrong with an expression, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FeatureError {
    pub expression: String,
    /// The character it is about, from 1.
    pub place: usize,
    pub what: String,
}

impl fmt::Display for FeatureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: String = if self.expression.chars().count() > 120 {
            self.expression.chars().take(120).chain(['…']).collect()
        } else {
            self.expression.clone()
        };
        write!(f, "{} at character {} of the feature expression {shown:?}", self.what, self.place)
    }
}

impl std::error::Error for FeatureError {}

impl FeatureError {
    /// For `map_err`: as the crate's own error.
    pub fn malformed(self) -> crate::Error {
        crate::Error::Malformed(self.to_string())
    }
}

type Parsed<T> = Result<T, FeatureError>;

pub fn parse(text: &str) -> Parsed<Node> {
    let mut reader = Reader { text, letters: text.chars().collect(), at: 0 };
    let node = reader.sum(0)?;
    if reader.peek().is_some() {
        return Err(reader.expected("'+', '*' or the end"));
    }
    if node.count_products() > MOST_PRODUCTS {
        return Err(reader.error(0, format!("at most {MOST_PRODUCTS} products make a set")));
    }
    if node.size() > MOST_FEATURES {
        let size = node.size();
        return Err(reader.error(0, format!("{size} features, and at most {MOST_FEATURES} make a set")));
    }
    for product in node.products() {
        let subjects = product.subjects();
        if subjects.len() > MOST_SUBJECTS {
            let letters: Vec<String> = subjects.iter().map(|s| s.letter().to_string()).collect();
            let letters = letters.join(", ");
            return Err(reader.error(0, format!("a product of the subjects {letters}: at most three")));
        }
    }
    Ok(node)
}

struct Reader<'a> {
    text: &'a str,
    letters: Vec<char>,
    at: usize,
}

impl Reader<'_> {
    fn error(&self, at: usize, what: String) -> FeatureError {
        FeatureError { expression: self.text.to_string(), place: at + 1, what }
    }

    fn expected(&mut self, wanted: &str) -> FeatureError {
        let found = match self.peek() {
            Some(letter) => format!("{letter:?}"),
            None => "the end".to_string(),
        };
        self.error(self.at, format!("expected {wanted}, found {found}"))
    }

    /// The next letter that is no blank.
    fn peek(&mut self) -> Option<char> {
        while self.letters.get(self.at).is_some_and(|letter| letter.is_whitespace()) {
            self.at += 1;
        }
        self.letters.get(self.at).copied()
    }

    fn take(&mut self, wanted: &[char]) -> bool {
        let found = self.peek().is_some_and(|letter| wanted.contains(&letter));
        self.at += usize::from(found);
        found
    }

    fn sum(&mut self, depth: usize) -> Parsed<Node> {
        let mut parts = vec![self.product(depth)?];
        while self.take(&['+', '⊕']) {
            parts.push(self.product(depth)?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Node::Sum(parts) })
    }

    fn product(&mut self, depth: usize) -> Parsed<Node> {
        self.peek();
        let start = self.at;
        let mut parts = vec![self.factor(depth)?];
        while self.take(&['*', '×']) {
            parts.push(self.factor(depth)?);
        }
        if parts.len() == 1 {
            return Ok(parts.remove(0));
        }
        if parts.iter().any(Node::has_subset) {
            return Err(self.error(start, "a subset [...] can be added, not multiplied".into()));
        }
        let product = Node::Product(parts);
        // Checked here, so that the strides below a wider product fit their numbers too.
        if product.size() > MOST_FEATURES {
            let size = product.size();
            return Err(self.error(
                start,
                format!("a product of {size} features, and at most {MOST_FEATURES} make a set"),
            ));
        }
        Ok(product)
    }

    fn factor(&mut self, depth: usize) -> Parsed<Node> {
        if depth > DEEPEST {
            return Err(self.error(self.at, format!("brackets nest at most {DEEPEST} deep")));
        }
        let node = if self.take(&['(']) {
            self.inside(depth)?
        } else if self.peek().is_some_and(|letter| letter.is_ascii_alphanumeric()) {
            self.word(depth)?
        } else {
            return Err(self.expected("a block, a named set or '('"));
        };
        if self.take(&['[']) { self.subset(node) } else { Ok(node) }
    }

    /// What follows an opening bracket.
    fn inside(&mut self, depth: usize) -> Parsed<Node> {
        let node = self.sum(depth + 1)?;
        if self.take(&[')']) { Ok(node) } else { Err(self.expected("'+', '*' or ')'")) }
    }

    fn word(&mut self, depth: usize) -> Parsed<Node> {
        let start = self.at;
        let belongs = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '-';
        while self.letters.get(self.at).is_some_and(belongs) {
            self.at += 1;
        }
        let word: String = self.letters[start..self.at].iter().collect::<String>().to_ascii_uppercase();
        if let Some(&(_, mirror)) = MIRRORS.iter().find(|(name, _)| *name == word) {
            if !self.take(&['(']) {
                return Err(self.expected(&format!("'(' after {word}")));
            }
            let mut inner = self.inside(depth)?;
            let mut neighbours = false;
            inner.for_each_atom(&mut |atom| neighbours |= atom.subject.step().is_some());
            if neighbours {
                return Err(self.error(start, format!("{word} cannot hold the neighbours R, U, D, X")));
            }
            return Ok(inner.mirrored(mirror));
        }
        let subject = self.subject()?;
        if let Some(block) = Block::find(&word) {
            let subject = subject.unwrap_or(Subject::Any);
            if block.needs_piece() && subject.is_square() {
                let letter = subject.letter();
                return Err(self.error(start, format!("{word} reads a piece, but {letter} is a square")));
            }
            return Ok(Node::Atom(Atom { block, subject, mirror: Mirror::NONE }));
        }
        let Some(expression) = named::find(&word) else {
            return Err(self.error(start, unknown(&word)));
        };
        let mut node = parse(expression).expect("the named sets are well formed");
        if let Some(subject) = subject {
            let mut of_piece = !subject.is_square();
            node.for_each_atom(&mut |atom| of_piece &= atom.subject == Subject::Any);
            if !of_piece {
                let letter = subject.letter();
                return Err(self.error(
                    start,
                    format!("{word} cannot speak of {letter}: it is no set of any one piece"),
                ));
            }
            node.for_each_atom(&mut |atom| atom.subject = subject);
        }
        Ok(node)
    }

    /// `_K` and the like, if it is there.
    fn subject(&mut self) -> Parsed<Option<Subject>> {
        if self.letters.get(self.at) != Some(&'_') {
            return Ok(None);
        }
        self.at += 1;
        let found = self.letters.get(self.at).and_then(|letter| Subject::find(letter.to_ascii_uppercase()));
        if found.is_none() {
            let letters: Vec<String> = SUBJECTS.iter().map(|(letter, ..)| letter.to_string()).collect();
            return Err(self.expected(&format!("a subject ({})", letters.join(", "))));
        }
        self.at += 1;
        Ok(found)
    }

    /// The numbers after `[`.
    fn subset(&mut self, node: Node) -> Parsed<Node> {
        if node.has_subset() {
            return Err(self.error(self.at - 1, "a subset of a subset: write one list".into()));
        }
        let mut chosen: Vec<u32> = Vec::new();
        loop {
            self.peek();
            let start = self.at;
            let first = self.number()?;
            let last = if self.take(&['-']) { self.number()? } else { first };
            if last < first || chosen.last().is_some_and(|&before| before >= first) {
                return Err(self.error(start, "expected the numbers in ascending order, each once".into()));
            }
            if u64::from(last) >= node.size() {
                let size = node.size();
                return Err(self.error(start, format!("expected numbers below {size}, found {last}")));
            }
            chosen.extend(first..=last);
            if self.take(&[']']) {
                return Ok(Node::Subset(Box::new(node), Arc::new(Selection::new(chosen))));
            }
            if !self.take(&[',']) {
                return Err(self.expected("',', '-' or ']'"));
            }
        }
    }

    fn number(&mut self) -> Parsed<u32> {
        self.peek();
        let start = self.at;
        while self.letters.get(self.at).is_some_and(char::is_ascii_digit) {
            self.at += 1;
        }
        let digits: String = self.letters[start..self.at].iter().collect();
        if digits.is_empty() {
            return Err(self.expected("the number of a feature"));
        }
        digits
            .parse()
            .map_err(|_| self.error(start, format!("expected the number of a feature, found {digits}")))
    }
}

/// "unknown block or set "FIEL", did you mean FILE?"
fn unknown(word: &str) -> String {
    let names = BLOCKS.iter().map(|(name, ..)| *name).chain(NAMED.iter().map(|(name, ..)| *name));
    let nearest = names.map(|name| (distance(word, name), name)).min().expect("there are names");
    if nearest.0 <= 2 && nearest.0 < word.len() {
        format!("unknown block or set {word:?}, did you mean {}?", nearest.1)
    } else {
        format!("unknown block or set {word:?}, expected a block such as FILE or a named set such as ALL")
    }
}

/// Letters to change, add or drop to make one word of the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
