//! A UCI engine that labels positions: one process, asked one position after another.
//!
//! python-chess drives engines that play; labelling asks thousands of
//! questions a second, so the conversation is held here, with nothing in
//! between.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, unbounded};
use shakmaty::{Chess, Color, Position};

use crate::error::{Error, Result};
use crate::move_code::MoveCode;
use crate::packed::{self, Packed};
use crate::pgn::{LARGEST_EVAL, MATE};
use crate::rules;

/// In move labels a mate in n is ±(MOVE_MATE − n).
pub const MOVE_MATE: i16 = 30000;
const LARGEST_MOVE_SCORE: i16 = 29000;
/// More lines than any position has legal moves.
const EVERY_MOVE: u32 = 256;

#[derive(Clone, Copy, Debug, Default)]
pub struct Thought {
    pub depth: Option<u32>,
    pub nodes: Option<u64>,
    /// Seconds.
    pub movetime: Option<f64>,
}

impl Thought {
    fn command(&self) -> Result<String> {
        let mut command = String::from("go");
        if let Some(depth) = self.depth {
            command += &format!(" depth {depth}");
        }
        if let Some(nodes) = self.nodes {
            command += &format!(" nodes {nodes}");
        }
        if let Some(seconds) = self.movetime {
            command += &format!(" movetime {}", (seconds * 1000.0).round().max(1.0) as u64);
        }
        if command == "go" {
            return Err(Error::Teacher("a teacher needs a limit: depth, nodes or movetime".into()));
        }
        Ok(command)
    }
}

/// A score from the side to move's view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Score {
    Centipawns(i32),
    /// Positive: the mover mates in n; zero or negative: it is mated.
    Mate(i32),
}

impl Score {
    fn number(self, mate: i16, largest: i16) -> i16 {
        match self {
            Score::Centipawns(cp) => cp.clamp(i32::from(-largest), i32::from(largest)) as i16,
            Score::Mate(n) if n > 0 => mate - n.min(255) as i16,
            Score::Mate(n) => -(mate - n.unsigned_abs().min(255) as i16),
        }
    }

    /// What it says so many half-moves further down its own line, for whoever moves there.
    fn after(self, plies: u32) -> Score {
        match self {
            Score::Centipawns(cp) => Score::Centipawns(if plies.is_multiple_of(2) { cp } else { -cp }),
            Score::Mate(n) => {
                let to_mate = if n > 0 { 2 * n.unsigned_abs() - 1 } else { 2 * n.unsigned_abs() };
                let left = to_mate.saturating_sub(plies) as i32;
                Score::Mate(if left % 2 == 1 { (left + 1) / 2 } else { -(left / 2) })
            }
        }
    }
}

/// What a teacher expects to be played: of each position asked, that and those which follow on its line.
#[derive(Debug, Default)]
pub struct Lines {
    /// Where the positions of each line begin, and the number of all at the end.
    pub offsets: Vec<i64>,
    pub positions: Vec<Packed>,
    /// The move expected in each.
    pub moves: Vec<MoveCode>,
    /// From the view of whoever moves there.
    pub scores: Vec<i16>,
}

pub struct Teacher {
    command: String,
    child: Child,
    input: ChildStdin,
    answers: Receiver<Vec<String>>,
    timeout: Duration,
    pub name: String,
    lines: u32,
}

impl Teacher {
    /// Start the engine and set its options.
    pub fn start(
        command: &str,
        arguments: &[String],
        options: &[(String, String)],
        timeout: Duration,
    ) -> Result<Teacher> {
        let mut child = Command::new(command)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| Error::Teacher(format!("cannot start the teacher {command}: {error}")))?;
        let input = child.stdin.take().expect("a piped stdin");
        let output = BufReader::new(child.stdout.take().expect("a piped stdout"));
        let (send, answers) = unbounded();
        // One message per answer, not per line: the engine is asked thousands of times a second.
        thread::spawn(move || {
            let mut answer = Vec::new();
            for line in output.split(b'\n') {
                let Ok(line) = line else { break };
                let line = String::from_utf8_lossy(&line).trim().to_string();
                let ends = ["bestmove", "uciok", "readyok"].iter().any(|word| line.starts_with(word));
                answer.push(line);
                if ends && send.send(std::mem::take(&mut answer)).is_err() {
                    break;
                }
            }
        });
        let mut teacher = Teacher {
            command: command.into(),
            child,
            input,
            answers,
            timeout,
            name: command.into(),
            lines: 1,
        };
        teacher.say("uci")?;
        for line in teacher.answer("uciok")? {
            if let Some(name) = line.strip_prefix("id name ") {
                teacher.name = name.to_string();
            }
        }
        for (name, value) in options {
            teacher.say(&format!("setoption name {name} value {value}"))?;
        }
        teacher.ready()?;
        Ok(teacher)
    }

    fn say(&mut self, text: &str) -> Result<()> {
        writeln!(self.input, "{text}").map_err(|_| self.died())
    }

    fn died(&mut self) -> Error {
        let status =
            self.child.try_wait().ok().flatten().map_or(String::new(), |status| format!(" ({status})"));
        Error::Teacher(format!("the teacher {} died{status}", self.command))
    }

    /// The lines up to and with the one that starts with `last`.
    fn answer(&mut self, last: &str) -> Result<Vec<String>> {
        loop {
            match self.answers.recv_timeout(self.timeout) {
                Ok(lines) if lines.last().is_some_and(|line| line.starts_with(last)) => return Ok(lines),
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(self.died()),
                Err(RecvTimeoutError::Timeout) => {
                    return Err(Error::Teacher(format!(
                        "the teacher {} gave no {last} for {:.0} seconds",
                        self.command,
                        self.timeout.as_secs_f64()
                    )));
                }
            }
        }
    }

    fn ready(&mut self) -> Result<()> {
        self.say("isready")?;
        self.answer("readyok").map(drop)
    }

    /// Forget earlier positions, so that what follows depends on nothing before it.
    pub fn new_game(&mut self) -> Result<()> {
        self.say("ucinewgame")?;
        self.ready()
    }

    fn set_lines(&mut self, lines: u32) -> Result<()> {
        if self.lines != lines {
            self.say(&format!("setoption name MultiPV value {lines}"))?;
            self.ready()?;
            self.lines = lines;
        }
        Ok(())
    }

    fn ask(&mut self, position: &Chess, go: &str) -> Result<Vec<String>> {
        let fen = rules::to_fen(position);
        self.say(&format!("position fen {fen}\n{go}"))?;
        self.answer("bestmove")
    }

    /// What it answers, and the score it comes to.
    fn judge(&mut self, position: &Chess, go: &str) -> Result<(Vec<String>, Score)> {
        let answer = self.ask(position, go)?;
        let score = final_score(&answer).ok_or_else(|| self.scoreless(position))?;
        Ok((answer, score))
    }

    /// One value per position, from White's view; ±(10000 − n) is mate in n.
    pub fn values(&mut self, positions: &[Packed], thought: &Thought) -> Result<Vec<i16>> {
        let go = thought.command()?;
        self.set_lines(1)?;
        let mut values = Vec::with_capacity(positions.len());
        for packed in positions {
            let position = packed::unpack(packed)?;
            let score = if position.legal_moves().is_empty() {
                if position.is_check() { Score::Mate(0) } else { Score::Centipawns(0) }
            } else {
                self.judge(&position, &go)?.1
            };
            let value = score.number(MATE, LARGEST_EVAL);
            values.push(if position.turn() == Color::White { value } else { -value });
        }
        Ok(values)
    }

    /// Every legal move's score from the side to move's view, in the order of UCI strings.
    pub fn all_moves(&mut self, positions: &[Packed], thought: &Thought) -> Result<(Vec<i64>, Vec<i16>)> {
        let go = thought.command()?;
        self.set_lines(EVERY_MOVE)?;
        let (mut offsets, mut scores) = (vec![0i64], Vec::new());
        for packed in positions {
            let position = packed::unpack(packed)?;
            let moves = rules::legal_moves_in_uci_order(&position);
            if !moves.is_empty() {
                let answer = self.ask(&position, &go)?;
                for m in moves {
                    let text = rules::uci(m);
                    let score = score_of(&answer, &text).ok_or_else(|| self.scoreless(&position))?;
                    scores.push(score.number(MOVE_MATE, LARGEST_MOVE_SCORE));
                }
            }
            offsets.push(scores.len() as i64);
        }
        Ok((offsets, scores))
    }

    /// The move it would play, by its place in the order of UCI strings, and its score from the side to
    /// move's view; no place, −1, where there is no move.
    pub fn best_moves(&mut self, positions: &[Packed], thought: &Thought) -> Result<(Vec<i16>, Vec<i16>)> {
        let go = thought.command()?;
        self.set_lines(1)?;
        let (mut places, mut scores) = (Vec::new(), Vec::new());
        for packed in positions {
            let position = packed::unpack(packed)?;
            let moves = rules::legal_moves_in_uci_order(&position);
            let (mut place, mut score) = (-1, 0);
            if !moves.is_empty() {
                let (answer, judged) = self.judge(&position, &go)?;
                let chosen = played_move(&answer).unwrap_or_default();
                let found = moves.iter().position(|m| rules::uci(*m) == chosen);
                place = found.ok_or_else(|| self.scoreless(&position))? as i16;
                score = judged.number(MOVE_MATE, LARGEST_MOVE_SCORE);
            }
            places.push(place);
            scores.push(score);
        }
        Ok((places, scores))
    }

    /// Its move in each position, and up to `length` − 1 more along the line that it expects then.
    pub fn best_lines(&mut self, positions: &[Packed], thought: &Thought, length: usize) -> Result<Lines> {
        let go = thought.command()?;
        self.set_lines(1)?;
        let mut lines = Lines { offsets: vec![0], ..Lines::default() };
        for packed in positions {
            let mut position = packed::unpack(packed)?;
            if !position.legal_moves().is_empty() {
                let (answer, score) = self.judge(&position, &go)?;
                let begun = lines.positions.len();
                for (ply, text) in expected_line(&answer).iter().take(length).enumerate() {
                    // A line may go on where the game is over or, from a table, with what is no move there.
                    let Ok(expected) = rules::parse_uci(&position, text) else { break };
                    lines.positions.push(if ply == 0 { *packed } else { packed::pack(&position, 0) });
                    lines.moves.push(MoveCode::of(expected));
                    lines.scores.push(score.after(ply as u32).number(MOVE_MATE, LARGEST_MOVE_SCORE));
                    position.play_unchecked(expected);
                }
                if lines.positions.len() == begun {
                    return Err(self.scoreless(&packed::unpack(packed)?));
                }
            }
            lines.offsets.push(lines.positions.len() as i64);
        }
        Ok(lines)
    }

    fn scoreless(&self, position: &Chess) -> Error {
        Error::Teacher(format!("the teacher {} gave no score for {}", self.command, rules::to_fen(position)))
    }
}

impl Drop for Teacher {
    fn drop(&mut self) {
        let _ = self.say("quit");
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The score in an info line, and whether it is a mere bound.
fn score_in(line: &str) -> Option<(Score, bool)> {
    let mut words = line.split_ascii_whitespace();
    words.find(|word| *word == "score")?;
    let (kind, number) = (words.next()?, words.next()?.parse().ok()?);
    let bound = matches!(words.next(), Some("lowerbound" | "upperbound"));
    match kind {
        "cp" => Some((Score::Centipawns(number), bound)),
        "mate" => Some((Score::Mate(number), bound)),
        _ => None,
    }
}

/// What an answer comes to: the last score given to its own move.
///
/// A search that was stopped within an iteration ends with a bound, because the score was on its way to somewhere
/// else than before. The truth lies nearer to the bound: three quarters of it and a quarter of the last exact score
/// have a third less squared error than the exact score alone, and no bias (docs/labels.md).
fn final_score(answer: &[String]) -> Option<Score> {
    let own = played_move(answer);
    let told = || answer.iter().rev().filter(|line| line.starts_with("info"));
    let of_own_move = || told().filter(|line| own.is_some() && begun_with(line) == own);
    let (score, bound) =
        of_own_move().find_map(|line| score_in(line)).or_else(|| told().find_map(|line| score_in(line)))?;
    let exact = told().filter_map(|line| score_in(line)).find(|(_, bound)| !bound);
    match (score, exact) {
        (Score::Centipawns(limit), Some((Score::Centipawns(exact), _))) if bound => {
            Some(Score::Centipawns((3 * limit + exact) / 4))
        }
        _ => Some(score),
    }
}

/// The move with which an info line's variation begins.
fn begun_with(line: &str) -> Option<&str> {
    line.split_ascii_whitespace().skip_while(|word| *word != "pv").nth(1)
}

/// The move that ends an answer.
fn played_move(answer: &[String]) -> Option<&str> {
    answer.last()?.strip_prefix("bestmove ")?.split_ascii_whitespace().next()
}

/// The moves that the answer's move begins. What was thought last is often cut short, and goes on as before then.
fn expected_line(answer: &[String]) -> Vec<&str> {
    let mut line: Vec<&str> = played_move(answer).into_iter().collect();
    for told in answer.iter().rev().filter(|line| line.starts_with("info")) {
        let words = told.split_ascii_whitespace().skip_while(|word| *word != "pv").skip(1);
        let told: Vec<&str> = words.collect();
        if told.len() > line.len() && told.starts_with(&line) {
            line = told;
        }
    }
    line
}

/// The last score given to a line that starts with `move_text`.
fn score_of(answer: &[String], move_text: &str) -> Option<Score> {
    let mut of_move = answer.iter().rev().filter(|line| begun_with(line) == Some(move_text));
    of_move.find_map(|line| score_in(line)).map(|(score, _)| score)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(lines: &[&str]) -> Vec<String> {
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_bound_weighs_three_times_what_was_exact_before_it() {
        let mut told = vec![
            "info depth 5 score cp 31 pv e2e4",
            "info depth 6 score cp 91 lowerbound pv e2e4",
            "bestmove e2e4 ponder e7e5",
        ];
        assert_eq!(final_score(&answer(&told)), Some(Score::Centipawns(76)));
        told.insert(2, "info depth 7 score mate 3 lowerbound pv e2e4");
        assert_eq!(final_score(&answer(&told)), Some(Score::Mate(3)));
    }

    #[test]
    fn a_score_is_that_of_the_move_played() {
        let lines = answer(&[
            "info depth 5 score cp 31 pv e2e4",
            "info depth 6 score cp 40 pv d2d4",
            "info depth 7 score cp 12 pv e2e4",
            "info depth 7 currmove d2d4 currmovenumber 2",
            "bestmove d2d4",
        ]);
        assert_eq!(final_score(&lines), Some(Score::Centipawns(40)));
        let unsaid = answer(&["info depth 5 score cp 31", "bestmove d2d4"]);
        assert_eq!(final_score(&unsaid), Some(Score::Centipawns(31)));
    }

    #[test]
    fn each_move_takes_its_latest_score() {
        let lines = answer(&[
            "info depth 1 multipv 2 score cp 5 pv d2d4",
            "info depth 2 multipv 1 score mate -3 pv d2d4 e7e5",
            "info depth 2 multipv 2 score cp 7 pv e2e4",
        ]);
        assert_eq!(score_of(&lines, "d2d4"), Some(Score::Mate(-3)));
        assert_eq!(score_of(&lines, "d7d5"), None);
    }

    #[test]
    fn the_move_played_stands_before_the_one_pondered() {
        assert_eq!(played_move(&answer(&["info depth 1", "bestmove e2e4 ponder e7e5"])), Some("e2e4"));
        assert_eq!(played_move(&answer(&["bestmove d7d8q"])), Some("d7d8q"));
    }

    #[test]
    fn a_line_cut_short_goes_on_as_it_was_thought_before() {
        let lines = answer(&[
            "info depth 4 score cp 20 pv d2d4 d7d5",
            "info depth 5 score cp 31 pv e2e4 e7e5 g1f3 b8c6",
            "info depth 6 score cp 30 pv e2e4 e7e5",
            "bestmove e2e4 ponder e7e5",
        ]);
        assert_eq!(expected_line(&lines), ["e2e4", "e7e5", "g1f3", "b8c6"]);
        let other = answer(&["info depth 5 score cp 31 pv e2e4 e7e5", "bestmove d2d4"]);
        assert_eq!(expected_line(&other), ["d2d4"]);
    }

    #[test]
    fn down_a_line_a_mate_comes_nearer_and_the_mover_changes() {
        let down = |score: Score| (0..5).map(|plies| score.after(plies)).collect::<Vec<_>>();
        let mates = |numbers: [i32; 5]| numbers.map(Score::Mate).to_vec();
        assert_eq!(down(Score::Mate(3)), mates([3, -2, 2, -1, 1]));
        assert_eq!(down(Score::Mate(-2)), mates([-2, 2, -1, 1, 0]));
        assert_eq!(Score::Centipawns(31).after(1), Score::Centipawns(-31));
    }

    #[test]
    fn mates_keep_their_distance_and_sign() {
        assert_eq!(Score::Mate(2).number(MATE, LARGEST_EVAL), 9998);
        assert_eq!(Score::Mate(0).number(MATE, LARGEST_EVAL), -10000);
        assert_eq!(Score::Mate(-4).number(MOVE_MATE, LARGEST_MOVE_SCORE), -29996);
    }
}
