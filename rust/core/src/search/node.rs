//! One thread's search: what it carries from node to node, and the small questions every node asks.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use shakmaty::Bitboard;

use super::board::Board;
use super::evaluate::Evaluate;
use super::generate::NO_MOVE;
use super::history::{Histories, LOOKBACKS, NO_PIECE_TO, piece_to};
use super::limits::{Deadline, Limits};
use super::picker::Context;
use super::score::{MAX_EVALUATION, MAX_PLY, UNKNOWN};
use super::table::Table;
use super::techniques::Techniques;
use crate::move_code::MoveCode;

/// Clock and stop flag are looked at once in so many nodes: well under a millisecond.
const POLL_INTERVAL: u64 = 256;
/// Frames before the root, so that looking back needs no test.
const FRAMES_BEFORE: usize = 4;

/// What is remembered of one ply of the current line.
#[derive(Clone, Copy)]
pub struct Frame {
    /// The move made from here, or `NO_MOVE` for a null move.
    pub code: MoveCode,
    pub piece_to: u16,
    pub evaluation: i32,
    /// The move that a singular search leaves out.
    pub excluded: MoveCode,
    pub killers: [MoveCode; 2],
    /// Cutoffs at this ply since the grandparent was entered.
    pub cutoffs: u16,
    pub double_extensions: u8,
}

impl Frame {
    const EMPTY: Frame = Frame {
        code: NO_MOVE,
        piece_to: NO_PIECE_TO,
        evaluation: UNKNOWN,
        excluded: NO_MOVE,
        killers: [NO_MOVE; 2],
        cutoffs: 0,
        double_extensions: 0,
    };
}

/// A move at the root and what is known of it.
#[derive(Clone, Debug)]
pub struct RootMove {
    pub code: MoveCode,
    pub score: i32,
    pub previous: i32,
    pub seldepth: usize,
    pub nodes: u64,
    pub line: Vec<MoveCode>,
}

/// What the threads of one search share.
pub struct Shared<'a> {
    pub table: &'a Table,
    pub techniques: Techniques,
    pub limits: &'a Limits,
    pub deadline: Deadline,
    /// Set from outside, or by the main thread for its helpers.
    pub stop: &'a AtomicBool,
    pub helpers_stop: AtomicBool,
    /// Nodes of every thread, published now and then.
    pub counters: Vec<AtomicU64>,
    pub lines: usize,
}

impl Shared<'_> {
    pub fn total_nodes(&self) -> u64 {
        self.counters.iter().map(|counter| counter.load(Relaxed)).sum()
    }
}

pub struct Search<'a, E> {
    pub shared: &'a Shared<'a>,
    pub techniques: Techniques,
    pub evaluator: &'a mut E,
    pub histories: &'a mut Histories,
    /// 0 is the main thread: it alone keeps time and reports.
    pub thread: usize,
    pub nodes: u64,
    next_poll: u64,
    pub stopped: bool,
    pub seldepth: usize,
    /// Keys of the game and of the current line; the last is the current position's.
    pub keys: Vec<u64>,
    frames: Vec<Frame>,
    /// The best line below each ply.
    lines: Vec<Vec<MoveCode>>,
    pub roots: Vec<RootMove>,
    /// Depth of the iteration under way.
    pub root_depth: usize,
    /// Which of several best lines is being searched.
    pub line_index: usize,
    /// No null move above this ply while a null-move cutoff is being verified.
    pub null_move_from: usize,
}

impl<'a, E: Evaluate> Search<'a, E> {
    pub fn new(
        shared: &'a Shared<'a>,
        evaluator: &'a mut E,
        histories: &'a mut Histories,
        thread: usize,
        keys: Vec<u64>,
        roots: Vec<RootMove>,
    ) -> Search<'a, E> {
        Search {
            shared,
            techniques: shared.techniques,
            evaluator,
            histories,
            thread,
            nodes: 0,
            next_poll: 0,
            stopped: false,
            seldepth: 0,
            keys,
            frames: vec![Frame::EMPTY; MAX_PLY + FRAMES_BEFORE + 4],
            lines: (0..=MAX_PLY + 1).map(|_| Vec::with_capacity(MAX_PLY)).collect(),
            roots,
            root_depth: 0,
            line_index: 0,
            null_move_from: 0,
        }
    }

    #[inline]
    pub fn frame(&mut self, ply: usize) -> &mut Frame {
        &mut self.frames[ply + FRAMES_BEFORE]
    }

    /// The frame some plies before; empty before the root.
    #[inline]
    pub fn earlier(&self, ply: usize, back: usize) -> &Frame {
        &self.frames[ply + FRAMES_BEFORE - back]
    }

    /// Whether the search is over; asked at every node.
    #[inline]
    pub fn must_stop(&mut self) -> bool {
        if self.nodes >= self.next_poll {
            self.poll();
        }
        self.stopped
    }

    fn poll(&mut self) {
        let shared = self.shared;
        self.next_poll = self.nodes + POLL_INTERVAL;
        shared.counters[self.thread].store(self.nodes, Relaxed);
        self.stopped |= shared.stop.load(Relaxed) || shared.helpers_stop.load(Relaxed);
        if self.thread == 0 {
            self.stopped |= shared.deadline.is_past();
            if let Some(limit) = shared.limits.nodes {
                let left = limit.saturating_sub(shared.total_nodes());
                self.stopped |= left == 0;
                self.next_poll = self.next_poll.min(self.nodes + left.max(1));
            }
        }
    }

    pub fn publish_nodes(&self) {
        self.shared.counters[self.thread].store(self.nodes, Relaxed);
    }

    /// Make a legal move from `ply`.
    pub fn make(&mut self, board: &Board, m: MoveCode, ply: usize) -> Board {
        self.shared.table.prefetch(board.key_after(m));
        let frame = self.frame(ply);
        frame.code = m;
        frame.piece_to = piece_to(board, m);
        let after = board.after(m);
        self.nodes += 1;
        self.evaluator.push(board, m, &after);
        self.keys.push(after.key);
        after
    }

    pub fn unmake(&mut self) {
        self.evaluator.pop();
        self.keys.pop();
    }

    pub fn make_null(&mut self, board: &Board, ply: usize) -> Board {
        let frame = self.frame(ply);
        frame.code = NO_MOVE;
        frame.piece_to = NO_PIECE_TO;
        let after = board.after_null();
        self.shared.table.prefetch(after.key);
        self.evaluator.push_null(board, &after);
        self.keys.push(after.key);
        after
    }

    pub fn unmake_null(&mut self) {
        self.evaluator.pop_null();
        self.keys.pop();
    }

    /// Fifty moves, a repetition, or too little material: below the root these end a line.
    pub fn is_draw(&self, board: &Board, ply: usize) -> bool {
        if board.halfmoves >= 100 && (!board.in_check() || board.has_legal_move()) {
            return true;
        }
        board.is_dead() || self.is_repeated(board, ply)
    }

    /// Once before within the line searched is enough: what was good then is good now. Twice before in the game.
    fn is_repeated(&self, board: &Board, ply: usize) -> bool {
        let last = self.keys.len() - 1;
        let reach = usize::from(board.reversible).min(last);
        let mut seen = 0;
        let mut back = 4;
        while back <= reach {
            if self.keys[last - back] == board.key {
                seen += 1;
                if back < ply || seen == 2 {
                    return true;
                }
            }
            back += 2;
        }
        false
    }

    /// Draws are not quite equal, so that the search does not take the first for the best.
    #[inline]
    pub fn draw_score(&self) -> i32 {
        1 - (self.nodes & 2) as i32
    }

    /// The evaluation of a position that is not in check, before any correction.
    pub fn evaluate(&mut self, board: &Board) -> i32 {
        self.evaluator.evaluate(board).clamp(-MAX_EVALUATION, MAX_EVALUATION)
    }

    /// An evaluation as the search uses it: fading towards the fifty-move draw, corrected by experience.
    pub fn refined(&self, board: &Board, raw: i32) -> i32 {
        let faded = raw - raw * i32::from(board.halfmoves.min(100)) / 220;
        if self.techniques.correction_history { self.histories.corrected(board, faded) } else { faded }
    }

    /// Squares that the other side attacks, for the histories that look at them.
    #[inline]
    pub fn threats(&self, board: &Board) -> Bitboard {
        if self.techniques.threat_history { board.threats() } else { Bitboard::EMPTY }
    }

    /// Piece and target of the moves that continuation history looks at.
    #[inline]
    pub fn earlier_moves(&self, ply: usize) -> [u16; LOOKBACKS.len()] {
        LOOKBACKS.map(|back| self.earlier(ply, back).piece_to)
    }

    /// What the picker needs here; `threats` only where quiet moves are tried.
    pub fn context(&self, ply: usize, threats: Bitboard) -> Context {
        let here = self.earlier(ply, 0);
        let last = self.earlier(ply, 1).piece_to;
        let mut specials = [NO_MOVE; 3];
        if self.techniques.killers {
            specials[..2].copy_from_slice(&here.killers);
        }
        if self.techniques.replies {
            specials[2] = self.histories.reply(last);
        }
        Context { earlier: self.earlier_moves(ply), specials, threats }
    }

    #[inline]
    pub fn clear_line(&mut self, ply: usize) {
        self.lines[ply].clear();
    }

    pub fn line(&self, ply: usize) -> &[MoveCode] {
        &self.lines[ply]
    }

    /// The best line here is this move and the child's best line.
    pub fn extend_line(&mut self, ply: usize, m: MoveCode) {
        let (here, below) = self.lines.split_at_mut(ply + 1);
        here[ply].clear();
        here[ply].push(m);
        here[ply].extend_from_slice(&below[0]);
    }
}
