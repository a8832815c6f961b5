//! The conversation: commands come in on one thread, the search runs on another.

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

use shakmaty::{Chess, Color, Move, Position};
use tabiya_core::move_code::MoveCode;
use tabiya_core::rules;
use tabiya_core::search::{Clock, Engine, Evaluator, Info, Limits, Verdict};

use crate::{bench, options};

/// Deep lines need more stack than a thread gets by default.
const STACK: usize = 16 << 20;

struct Conversation {
    /// Absent while a search has it.
    engine: Option<Engine<Evaluator>>,
    running: Option<(JoinHandle<Engine<Evaluator>>, bool)>,
    stop: Arc<AtomicBool>,
    overhead: Duration,
    start: Chess,
    moves: Vec<Move>,
}

pub fn converse(input: impl BufRead) {
    let mut here = Conversation {
        engine: Some(Engine::new(Evaluator::new(None))),
        running: None,
        stop: Arc::new(AtomicBool::new(false)),
        overhead: options::DEFAULT_OVERHEAD,
        start: Chess::default(),
        moves: Vec::new(),
    };
    for line in input.split(b'\n') {
        let Ok(line) = line else { break };
        let line = String::from_utf8_lossy(&line);
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.first() == Some(&"quit") {
            here.stop.store(true, Relaxed);
            break;
        }
        if let Err(sentence) = here.answer(&words) {
            say(&format!("info string {sentence}"));
        }
    }
    // At the end of the input a search that ends by itself may do so.
    if here.running.as_ref().is_some_and(|(_, endless)| *endless) {
        here.stop.store(true, Relaxed);
    }
    here.wait();
}

/// One line at once, so that two threads never mix theirs; a reader that has gone is no reason to panic.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}

impl Conversation {
    fn answer(&mut self, words: &[&str]) -> Result<(), String> {
        let Some((&command, rest)) = words.split_first() else { return Ok(()) };
        match command {
            "uci" => {
                say("id name Tabiya engine\nid author the Tabiya authors");
                options::describe();
                say("uciok");
            }
            "isready" => say("readyok"),
            "stop" => {
                self.stop.store(true, Relaxed);
                self.wait();
            }
            "ucinewgame" => self.idle().clear(),
            "setoption" => {
                let text = rest.join(" ");
                let (name, value) = text.split_once(" value ").unwrap_or((&text, ""));
                let name = name.strip_prefix("name ").ok_or("setoption name NAME value VALUE")?.to_owned();
                let mut overhead = self.overhead;
                options::set(self.idle(), &mut overhead, &name, value)?;
                self.overhead = overhead;
            }
            "position" => self.set_position(rest)?,
            "go" => self.go(rest)?,
            "bench" => {
                let evaluator = self.idle().evaluator().clone();
                bench::run(evaluator, 300_000);
            }
            "debug" | "register" | "ponderhit" => {}
            _ => return Err(format!("unknown command {command:?}")),
        }
        Ok(())
    }

    /// The engine at rest: a search under way is stopped first.
    fn idle(&mut self) -> &mut Engine<Evaluator> {
        self.stop.store(true, Relaxed);
        self.wait();
        self.engine.get_or_insert_with(|| Engine::new(Evaluator::new(None)))
    }

    fn wait(&mut self) {
        if let Some((handle, _)) = self.running.take() {
            self.engine = handle.join().ok();
        }
    }

    fn set_position(&mut self, words: &[&str]) -> Result<(), String> {
        let split = words.iter().position(|&word| word == "moves").unwrap_or(words.len());
        let start = match words.first() {
            Some(&"startpos") => Chess::default(),
            Some(&"fen") => rules::from_fen(&words[1..split].join(" ")).map_err(|error| error.to_string())?,
            _ => return Err("position startpos or position fen FEN, then moves".into()),
        };
        let (mut position, mut moves) = (start.clone(), Vec::new());
        for text in words.iter().skip(split + 1) {
            let m = rules::parse_uci(&position, text).map_err(|error| error.to_string())?;
            position.play_unchecked(m);
            moves.push(m);
        }
        (self.start, self.moves) = (start, moves);
        Ok(())
    }

    fn go(&mut self, words: &[&str]) -> Result<(), String> {
        let mut position = self.start.clone();
        self.moves.iter().for_each(|&m| position.play_unchecked(m));
        let (limits, only, endless) = read_limits(words, &position, self.overhead)?;
        self.idle();
        let mut engine = self.engine.take().expect("an idle engine is at hand");
        self.stop.store(false, Relaxed);
        let (stop, start, moves) = (self.stop.clone(), self.start.clone(), self.moves.clone());
        let think = move || {
            let outcome =
                engine.search(&start, &moves, &only, &limits, &stop, &mut |info| say(&describe(info)));
            while endless && !stop.load(Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
            let best = outcome.best().map_or("0000".to_owned(), |code| code.uci().to_string());
            say(&format!("bestmove {best}"));
            engine
        };
        let handle =
            std::thread::Builder::new().stack_size(STACK).spawn(think).map_err(|error| error.to_string())?;
        self.running = Some((handle, endless));
        Ok(())
    }
}

/// Limits, moves to look at, and whether only `stop` ends this search.
fn read_limits(
    words: &[&str],
    position: &Chess,
    overhead: Duration,
) -> Result<(Limits, Vec<MoveCode>, bool), String> {
    let mut limits = Limits { overhead, ..Limits::default() };
    let mut only = Vec::new();
    let (mut left, mut increment, mut moves_to_go) = (None, Duration::ZERO, None);
    let (ours, our_increment) = match position.turn() {
        Color::White => ("wtime", "winc"),
        Color::Black => ("btime", "binc"),
    };
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        if word == "searchmoves" {
            for text in words.by_ref() {
                let m = rules::parse_uci(position, text).map_err(|error| error.to_string())?;
                only.push(MoveCode::of(m));
            }
            break;
        }
        if matches!(word, "infinite" | "ponder") {
            continue;
        }
        let value = words.next().ok_or_else(|| format!("go {word} wants a number"))?;
        // A clock may have run below zero; it still wants a move.
        let number =
            value.parse::<i64>().map_err(|_| format!("go {word} wants a number, not {value:?}"))?.max(0)
                as u64;
        let time = Duration::from_millis(number);
        match word {
            "depth" => limits.depth = Some(number.min(u64::from(u32::MAX)) as u32),
            "nodes" => limits.nodes = Some(number),
            "mate" => limits.mate = Some(number.min(u64::from(u32::MAX)) as u32),
            "movetime" => limits.move_time = Some(time),
            "movestogo" => moves_to_go = Some(number.min(u64::from(u32::MAX)) as u32),
            _ if word == ours => left = Some(time),
            _ if word == our_increment => increment = time,
            "wtime" | "btime" | "winc" | "binc" => {}
            _ => return Err(format!("go does not know {word:?}")),
        }
    }
    limits.clock = left.map(|left| Clock { left, increment, moves_to_go });
    let unlimited = Limits { overhead, ..Limits::default() };
    Ok((limits, only, limits == unlimited))
}

fn describe(info: &Info) -> String {
    let pv: Vec<String> = info.pv.iter().map(|code| code.uci().to_string()).collect();
    format!(
        "info depth {} seldepth {} multipv {} score {} nodes {} nps {} hashfull {} time {} pv {}",
        info.depth,
        info.seldepth,
        info.multipv,
        Verdict::of(info.score),
        info.nodes,
        info.nodes_per_second(),
        info.hashfull,
        info.time.as_millis(),
        pv.join(" ")
    )
}
