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
use crate::verdict::{Score, expected_line, final_score, played_move, score_of};

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
