//! The engine as the outside sees it: options, a position with its history, limits, and a decision.
//!
//! Several threads search the same root with one table between them; each has
//! its own histories and its own evaluation. One thread at fixed nodes gives
//! the same answer every time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use shakmaty::{Chess, Move, Position};

use super::board::Board;
use super::driver::Info;
use super::evaluate::Evaluate;
use super::history::Histories;
use super::lag::Lag;
use super::limits::{Deadline, Limits};
use super::node::{RootMove, Search, Shared};
use super::score::INFINITE;
use super::table::Table;
use super::techniques::Techniques;
use crate::move_code::MoveCode;

pub const DEFAULT_HASH: usize = 16;
/// Deep lines need more stack than a thread gets by default.
pub const STACK: usize = 16 << 20;

/// One line of play with its score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub score: i32,
    pub moves: Vec<MoveCode>,
}

/// What a search decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The best lines, best first, as many as asked for; none where no move is legal.
    pub lines: Vec<Line>,
    /// The last depth that was finished.
    pub depth: u32,
    pub nodes: u64,
}

impl Outcome {
    pub fn best(&self) -> Option<MoveCode> {
        self.lines.first().and_then(|line| line.moves.first().copied())
    }
}

struct Worker<E> {
    evaluator: E,
    histories: Histories,
}

pub struct Engine<E> {
    table: Table,
    workers: Vec<Worker<E>>,
    lag: Lag,
    pub techniques: Techniques,
    /// How many best lines to find.
    pub lines: usize,
}

impl<E: Evaluate + Clone> Engine<E> {
    pub fn new(evaluator: E) -> Engine<E> {
        Engine {
            table: Table::new(DEFAULT_HASH),
            workers: vec![Worker { evaluator, histories: Histories::default() }],
            lag: Lag::default(),
            techniques: Techniques::default(),
            lines: 1,
        }
    }

    /// Replace the table by one of so many mebibytes.
    pub fn set_hash(&mut self, mebibytes: usize) {
        self.table = Table::new(mebibytes);
    }

    pub fn set_threads(&mut self, threads: usize) {
        let evaluator = self.workers[0].evaluator.clone();
        self.workers.resize_with(threads.max(1), || Worker {
            evaluator: evaluator.clone(),
            histories: Histories::default(),
        });
    }

    pub fn evaluator(&self) -> &E {
        &self.workers[0].evaluator
    }

    /// Use another evaluation, and forget what was learnt with the old one.
    pub fn set_evaluator(&mut self, evaluator: E) {
        for worker in &mut self.workers {
            worker.evaluator = evaluator.clone();
        }
        self.clear();
    }

    /// Forget everything, as before a new game.
    pub fn clear(&mut self) {
        self.lag = Lag::default();
        self.table.clear();
        for worker in &mut self.workers {
            worker.histories.clear();
        }
    }

    /// Search the position after `moves` from `start`, all of them legal.
    ///
    /// `only` restricts the root to these moves unless it is empty. The search
    /// ends when a limit is reached or `stop` is set; `report` hears of every
    /// finished depth.
    pub fn search(
        &mut self,
        start: &Chess,
        moves: &[Move],
        only: &[MoveCode],
        limits: &Limits,
        stop: &AtomicBool,
        report: &mut dyn FnMut(&Info),
    ) -> Outcome {
        let mut position = start.clone();
        let mut board = Board::new(start);
        let mut keys = vec![board.key];
        for &m in moves {
            board = board.after(MoveCode::of(m));
            keys.push(board.key);
            position.play_unchecked(m);
        }
        let roots: Vec<RootMove> = board
            .legal_moves()
            .iter()
            .map(|scored| scored.code)
            .filter(|code| only.is_empty() || only.contains(code))
            .map(|code| RootMove {
                code,
                score: -INFINITE,
                previous: -INFINITE,
                seldepth: 0,
                nodes: 0,
                line: vec![code],
            })
            .collect();
        if roots.is_empty() {
            return Outcome { lines: Vec::new(), depth: 0, nodes: 0 };
        }
        let mut limits = *limits;
        if let Some(clock) = &limits.clock {
            limits.overhead = limits.overhead.max(self.lag.learn(clock));
        }
        let limits = &limits;
        self.table.grow_older();
        let shared = Shared {
            table: &self.table,
            techniques: self.techniques,
            limits,
            deadline: Deadline::new(limits, roots.len()),
            stop,
            helpers_stop: AtomicBool::new(false),
            counters: self.workers.iter().map(|_| AtomicU64::new(0)).collect(),
            lines: self.lines.max(1),
        };
        let (main, helpers) = self.workers.split_first_mut().expect("there is always a main thread");
        let mut results = Vec::with_capacity(helpers.len() + 1);
        std::thread::scope(|scope| {
            let (shared, board, position) = (&shared, &board, &position);
            let handles: Vec<_> = helpers
                .iter_mut()
                .enumerate()
                .filter_map(|(index, worker)| {
                    let (keys, roots) = (keys.clone(), roots.clone());
                    let think = move || {
                        let Worker { evaluator, histories } = worker;
                        let mut search = Search::new(shared, evaluator, histories, index + 1, keys, roots);
                        let depth = search.deepen(board, position, &mut |_| {});
                        (depth, search.roots)
                    };
                    // Where the system refuses a thread, the others carry on without it.
                    std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, think).ok()
                })
                .collect();
            let Worker { evaluator, histories } = main;
            let mut search = Search::new(shared, evaluator, histories, 0, keys.clone(), roots.clone());
            let depth = search.deepen(board, position, report);
            shared.helpers_stop.store(true, Relaxed);
            results.push((depth, search.roots));
            results.extend(handles.into_iter().filter_map(|handle| handle.join().ok()));
        });
        if let Some(clock) = &limits.clock {
            self.lag.note(clock, shared.deadline.elapsed());
        }
        decide(results, shared.lines, shared.total_nodes())
    }
}

/// The main thread's answer, unless a helper got deeper and found more.
fn decide(results: Vec<(u32, Vec<RootMove>)>, lines: usize, nodes: u64) -> Outcome {
    let mut chosen = 0;
    if lines == 1 {
        for (index, (depth, roots)) in results.iter().enumerate() {
            let (best_depth, best_roots) = &results[chosen];
            if *depth > *best_depth && known(&roots[0]) > known(&best_roots[0]) {
                chosen = index;
            }
        }
    }
    let (depth, roots) = &results[chosen];
    let lines =
        roots.iter().take(lines).map(|root| Line { score: known(root), moves: root.line.clone() }).collect();
    Outcome { lines, depth: *depth, nodes }
}

/// The score of this iteration or, where it was stopped before, of the last; 0 if there was none.
fn known(root: &RootMove) -> i32 {
    [root.score, root.previous].into_iter().find(|&score| score != -INFINITE).unwrap_or(0)
}
