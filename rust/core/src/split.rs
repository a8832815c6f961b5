//! A stream of PGN text cut into chunks of whole games, with line numbers.
//!
//! A game begins at a tag line that follows moves, or at "1." after a blank
//! line, so a comment that never ends costs its own game and no other.

use std::io::Read;

use crate::pgn;

/// Small enough that shards end near their limit, large enough that queues cost nothing.
const CHUNK_BYTES: usize = 1 << 16;
/// No game is this long: what is, is not PGN and is cut.
const LONGEST_GAME: usize = 16 << 20;

struct Span {
    start: usize,
    end: usize,
    line: u64,
}

/// Whole games, one after another.
pub struct Chunk {
    text: Vec<u8>,
    spans: Vec<Span>,
    first_number: u64,
}

/// One game's text, the line it starts at (from 1) and its number in the file (from 0).
pub struct GameText<'a> {
    pub bytes: &'a [u8],
    pub line: u64,
    pub number: u64,
}

impl Chunk {
    pub fn games(&self) -> impl Iterator<Item = GameText<'_>> {
        self.spans.iter().enumerate().map(|(at, span)| GameText {
            bytes: &self.text[span.start..span.end],
            line: span.line,
            number: self.first_number + at as u64,
        })
    }
}

pub struct Splitter<R> {
    reader: R,
    buffer: Vec<u8>,
    /// Where the next line starts that has not been looked at.
    scanned: usize,
    line: u64,
    game_start: usize,
    game_line: u64,
    in_moves: bool,
    after_blank: bool,
    spans: Vec<Span>,
    number: u64,
    skip: u64,
    ended: bool,
}

impl<R: Read> Splitter<R> {
    /// Cut `reader` into games, leaving out the first `skip`.
    pub fn new(reader: R, skip: u64) -> Splitter<R> {
        Splitter {
            reader,
            buffer: Vec::with_capacity(2 * CHUNK_BYTES),
            scanned: 0,
            line: 1,
            game_start: 0,
            game_line: 1,
            in_moves: false,
            after_blank: true,
            spans: Vec::new(),
            number: 0,
            skip,
            ended: false,
        }
    }

    /// The next chunk with at least one game, or None at the end.
    pub fn next_chunk(&mut self) -> std::io::Result<Option<Chunk>> {
        while !self.ended {
            self.fill()?;
            self.scan();
            if self.ended {
                self.end_game(self.buffer.len());
            } else if self.buffer.len() - self.game_start > LONGEST_GAME {
                self.end_game(self.scanned);
            }
            if let Some(chunk) = self.take_chunk() {
                return Ok(Some(chunk));
            }
        }
        Ok(None)
    }

    fn fill(&mut self) -> std::io::Result<()> {
        let before = self.buffer.len();
        let read = self.reader.by_ref().take(CHUNK_BYTES as u64).read_to_end(&mut self.buffer)?;
        debug_assert_eq!(before + read, self.buffer.len());
        self.ended = read == 0;
        Ok(())
    }

    /// Look at the lines that are complete (at the end: all) and note where games begin.
    fn scan(&mut self) {
        while self.scanned < self.buffer.len() {
            let rest = &self.buffer[self.scanned..];
            let length = match memchr::memchr(b'\n', rest) {
                Some(at) => at + 1,
                None if self.ended || rest.len() > LONGEST_GAME => rest.len(),
                None => break,
            };
            let line = rest[..length].trim_ascii();
            let (blank, escaped) = (line.is_empty(), line.starts_with(b"%"));
            let is_tag = line.first() == Some(&b'[') && pgn::tag(line).is_some();
            if self.in_moves && (is_tag || self.after_blank && line.starts_with(b"1.")) {
                self.end_game(self.scanned);
            }
            if !blank && !escaped {
                self.in_moves = !is_tag;
            }
            self.after_blank = blank;
            self.scanned += length;
            self.line += 1;
        }
    }

    /// The running game ends before `end`; the next begins there.
    fn end_game(&mut self, end: usize) {
        if !self.buffer[self.game_start..end].trim_ascii().is_empty() {
            self.spans.push(Span { start: self.game_start, end, line: self.game_line });
        }
        self.game_start = end;
        self.game_line = self.line;
        self.in_moves = false;
    }

    /// Hand over the finished games and keep the text of the running one.
    fn take_chunk(&mut self) -> Option<Chunk> {
        let tail = self.buffer[self.game_start..].to_vec();
        let mut text = std::mem::replace(&mut self.buffer, tail);
        text.truncate(self.game_start);
        self.scanned -= self.game_start;
        self.game_start = 0;
        let mut spans = std::mem::take(&mut self.spans);
        let skipped = spans.len().min(self.skip as usize);
        self.skip -= skipped as u64;
        spans.drain(..skipped);
        let first_number = self.number + skipped as u64;
        self.number = first_number + spans.len() as u64;
        (!spans.is_empty()).then_some(Chunk { text, spans, first_number })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn games(text: &str, skip: u64) -> Vec<(String, u64, u64)> {
        let mut splitter = Splitter::new(text.as_bytes(), skip);
        let mut all = Vec::new();
        while let Some(chunk) = splitter.next_chunk().unwrap() {
            all.extend(chunk.games().map(|game| {
                (String::from_utf8_lossy(game.bytes.trim_ascii()).into_owned(), game.line, game.number)
            }));
        }
        all
    }

    #[test]
    fn games_are_found_with_their_lines() {
        let found = games("[A \"1\"]\n\n1. e4 *\n\n[B \"2\"]\n1. d4\nd5 *\n", 0);
        assert_eq!(found.iter().map(|game| (game.1, game.2)).collect::<Vec<_>>(), [(1, 0), (5, 1)]);
    }

    #[test]
    fn an_endless_comment_costs_only_its_own_game() {
        let found = games("[A \"1\"]\n\n1. e4 {never\n\n[B \"2\"]\n\n1. d4 *\n", 0);
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn a_comment_line_that_starts_with_a_bracket_is_no_new_game() {
        assert_eq!(games("[A \"1\"]\n\n1. e4 {\n[%eval 0.3]\n} e5 *\n", 0).len(), 1);
    }

    #[test]
    fn games_without_tags_begin_at_move_one_after_a_blank_line() {
        assert_eq!(games("1. e4 e5 *\n\n1. d4 d5 *\n", 0).len(), 2);
    }

    #[test]
    fn skipped_games_keep_the_numbers_of_the_rest() {
        let found = games("[A \"1\"]\n\n1. e4 *\n\n[B \"2\"]\n\n1. d4 *\n", 1);
        assert_eq!(found, [("[B \"2\"]\n\n1. d4 *".to_string(), 5, 1)]);
    }
}
