//! Minimax with alpha-beta, as deep as the time for each move allows.
//!
//! There is no fixed depth: a position's time is divided among its moves, and
//! a move is looked behind if T = k·N/v, the time to score the N replies,
//! fits into its share. On the board itself, what a move leaves unspent goes to
//! those after it. Further on all moves of a position have the same share: if it
//! were handed on there too, those that come first, the captures, would be left
//! where those that come last are followed two plies further, and a player
//! that compares the two gives its pieces away.
//! Captures come first, and before them the line foreseen at the last move.
//! A branch is left when a win at a smaller depth is already at hand.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use shakmaty::zobrist::Zobrist64;
use shakmaty::{Chess, EnPassantMode, Move, MoveList, Position};

use super::genes::{Castled, Scorer};
use super::survey::Survey;

/// A win, less the plies to it; beyond every heuristic score.
pub const WIN: f64 = 1e15;

/// However little a genome asks for, no line grows longer.
const DEEPEST: u32 = 80;

/// A third occurrence needs so many moves that can be taken back.
const SHORTEST_THREEFOLD: u32 = 8;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    Seconds,
    /// Positions looked at.
    Nodes,
}

/// What a move may cost.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    pub unit: Unit,
    /// What the look-ahead gene divides among the moves; None: depth alone decides.
    pub share: Option<f64>,
    /// Thought ends when this is spent.
    pub most: Option<f64>,
    /// Plies to look ahead at most.
    pub depth: Option<u32>,
}

/// The constants k of T = k·N/v.
#[derive(Clone, Copy, Debug)]
pub struct Speculation {
    pub can_capture: f64,
    pub default: f64,
    pub just_captured: f64,
    pub recapture: f64,
}

impl Speculation {
    fn constant(&self, captured: bool, can_capture: bool) -> f64 {
        match (captured, can_capture) {
            (true, true) => self.recapture,
            (true, false) => self.just_captured,
            (false, true) => self.can_capture,
            (false, false) => self.default,
        }
    }
}

/// The game so far, as the search needs it.
#[derive(Clone, Default)]
pub struct Past {
    /// Of every position from the start, the one on the board last.
    pub keys: Vec<u64>,
    pub castled: Castled,
}

impl Past {
    pub fn new(start: &Chess) -> Past {
        Past { keys: vec![key(start)], castled: [None; 2] }
    }

    /// A move by the side to move in `before`, leading to `after`.
    pub fn push(&mut self, before: &Chess, m: Move, after: &Chess) {
        self.castled = castled_after(self.castled, before, m);
        self.keys.push(key(after));
    }
}

fn castled_after(mut castled: Castled, before: &Chess, m: Move) -> Castled {
    if let Some(side) = m.castling_side() {
        castled[before.turn() as usize] = Some(side);
    }
    castled
}

fn key(position: &Chess) -> u64 {
    position.zobrist_hash::<Zobrist64>(EnPassantMode::Legal).0
}

pub struct Search<'a> {
    scorer: &'a Scorer,
    speculation: Speculation,
    allowance: Allowance,
    /// Leaves scored per unit of time.
    speed: f64,
    recall: &'a [Move],
    stop: &'a AtomicBool,
    keys: Vec<u64>,
    began: Instant,
    lines: Vec<Vec<Move>>,
    pub nodes: u64,
    pub leaves: u64,
    pub deepest: u32,
    pub stopped: bool,
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct Found {
    pub line: Vec<Move>,
    pub value: f64,
}

impl<'a> Search<'a> {
    pub fn new(
        scorer: &'a Scorer,
        speculation: Speculation,
        allowance: Allowance,
        speed: f64,
        recall: &'a [Move],
        stop: &'a AtomicBool,
    ) -> Search<'a> {
        Search {
            scorer,
            speculation,
            allowance,
            speed,
            recall,
            stop,
            keys: Vec::new(),
            began: Instant::now(),
            lines: vec![Vec::new(); DEEPEST as usize + 2],
            nodes: 0,
            leaves: 0,
            deepest: 0,
            stopped: false,
        }
    }

    /// Spent so far, in the allowance's unit.
    pub fn spent(&self) -> f64 {
        match self.allowance.unit {
            Unit::Nodes => self.nodes as f64,
            Unit::Seconds => self.began.elapsed().as_secs_f64(),
        }
    }

    /// The best move of a position that has one; never nothing, however short the time.
    pub fn best(&mut self, position: &Chess, past: &Past) -> Found {
        self.keys.clone_from(&past.keys);
        let time = self.allowance.share.unwrap_or(f64::INFINITY);
        let recalls = !self.recall.is_empty();
        let value = self.look(position, past.castled, f64::NEG_INFINITY, f64::INFINITY, 0, time, recalls);
        let mut line = std::mem::take(&mut self.lines[0]);
        if line.is_empty() {
            line.push(self.order(position, 0, recalls)[0]);
        }
        Found { line, value: if value.is_finite() { value } else { 0.0 } }
    }

    /// The value of a position for the side to move, `ply` moves from the root.
    #[allow(clippy::too_many_arguments)]
    fn look(
        &mut self,
        position: &Chess,
        castled: Castled,
        mut alpha: f64,
        beta: f64,
        ply: u32,
        time: f64,
        recalls: bool,
    ) -> f64 {
        let here = ply as usize;
        self.lines[here].clear();
        self.deepest = self.deepest.max(ply + 1);
        // Nothing from here can be better than a win at the next ply.
        let soonest_win = WIN - f64::from(ply + 1);
        if alpha >= soonest_win {
            return alpha;
        }
        let moves = self.order(position, ply, recalls);
        let mut best = f64::NEG_INFINITY;
        for (at, &m) in moves.iter().enumerate() {
            if self.is_over() {
                break;
            }
            let share = if ply == 0 {
                (time - self.spent()) / (moves.len() - at) as f64
            } else {
                time / moves.len() as f64
            };
            let follows = recalls && at == 0 && self.recall.get(here) == Some(&m);
            let value = self.value_of(position, m, castled, (alpha, beta), ply, share, follows);
            // A move whose examination was cut short has no value; the first of the root has to do.
            if self.stopped && !(ply == 0 && self.lines[0].is_empty()) {
                break;
            }
            if value > best {
                best = value;
                let (upper, lower) = self.lines.split_at_mut(here + 1);
                upper[here].clear();
                upper[here].push(m);
                upper[here].extend_from_slice(&lower[0]);
            }
            alpha = alpha.max(value);
            if alpha >= beta || alpha >= soonest_win {
                break;
            }
        }
        best
    }

    /// The value of a move for the one who makes it.
    #[allow(clippy::too_many_arguments)]
    fn value_of(
        &mut self,
        before: &Chess,
        m: Move,
        castled: Castled,
        (alpha, beta): (f64, f64),
        ply: u32,
        share: f64,
        recalls: bool,
    ) -> f64 {
        let mut position = before.clone();
        position.play_unchecked(m);
        self.nodes += 1;
        self.lines[ply as usize + 1].clear();
        let survey = Survey::of(&position);
        let replies = survey.mover.legal_moves;
        if replies == 0 {
            return if survey.check { WIN - f64::from(ply + 1) } else { 0.0 };
        }
        if self.is_draw(&position) {
            return 0.0;
        }
        let castled = castled_after(castled, before, m);
        let k = self.speculation.constant(m.is_capture(), survey.mover.can_capture);
        if self.looks_behind(k * f64::from(replies) / self.speed, share, ply + 1) {
            self.keys.push(key(&position));
            let value = -self.look(&position, castled, -beta, -alpha, ply + 1, share, recalls);
            self.keys.pop();
            return value;
        }
        self.leaves += 1;
        -self.scorer.score(&position, &survey, &castled)
    }

    fn looks_behind(&self, needed: f64, share: f64, depth: u32) -> bool {
        depth < self.allowance.depth.unwrap_or(DEEPEST).min(DEEPEST)
            && (self.allowance.share.is_none() || share > 0.0 && needed < share)
    }

    fn is_over(&mut self) -> bool {
        if !self.stopped {
            self.stopped = self.stop.load(Ordering::Relaxed)
                || self.allowance.most.is_some_and(|most| self.spent() >= most);
        }
        self.stopped
    }

    /// A draw by the rules, the third occurrence and fifty moves included.
    fn is_draw(&self, position: &Chess) -> bool {
        let board = position.board();
        let heavy = board.pawns() | board.rooks_and_queens();
        if heavy.is_empty() && position.is_insufficient_material() {
            return true;
        }
        let clock = position.halfmoves();
        if clock < SHORTEST_THREEFOLD {
            return false;
        }
        if clock >= 100 {
            return true;
        }
        let own = key(position);
        let first = self.keys.len().saturating_sub(clock as usize);
        self.keys[first..].iter().filter(|&&each| each == own).count() >= 2
    }

    /// The foreseen move, captures, the rest.
    fn order(&self, position: &Chess, ply: u32, recalls: bool) -> MoveList {
        let moves = position.legal_moves();
        let mut ordered = MoveList::new();
        let foreseen = self.recall.get(ply as usize).filter(|m| recalls && moves.contains(m));
        ordered.extend(foreseen.copied());
        let rest = || moves.iter().copied().filter(|m| Some(m) != foreseen);
        ordered.extend(rest().filter(|m| m.is_capture()));
        ordered.extend(rest().filter(|m| !m.is_capture()));
        ordered
    }
}

/// Moves to mate as a value of the search tells them, negative for the side that is mated.
pub fn mate_in(value: f64) -> Option<i32> {
    let plies = WIN - value.abs();
    if plies > 1000.0 {
        return None;
    }
    let moves = (plies as i32 + 1) / 2;
    Some(if value > 0.0 { moves } else { -moves })
}
