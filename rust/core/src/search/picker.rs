//! Which move to try next: the table's, good captures, killers, quiet moves by history, bad captures.
//!
//! Each stage is made only when the one before it is used up. Moves handed out
//! are legal, and none is handed out twice.

use shakmaty::Bitboard;

use super::board::Board;
use super::exchange::{self, PRICE};
use super::generate::{MoveList, NO_MOVE, Scored};
use super::history::{HISTORY_LIMIT, Histories, LOOKBACKS, piece_to};
use super::piece::QUEEN;
use super::techniques::Techniques;
use crate::move_code::MoveCode;

/// A capture is good unless its exchange loses more than its history forgives.
const CAPTURE_HISTORY_SHARE: i32 = 64;
const VICTIM_WEIGHT: i32 = 32;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Stage {
    Table,
    MakeNoisy,
    GoodNoisy,
    Special,
    MakeQuiet,
    Quiet,
    BadNoisy,
    Done,
}

/// What the picker wants to know of the moves before this node.
#[derive(Clone, Copy)]
pub struct Context {
    /// Piece and target of the moves one, two and four plies ago.
    pub earlier: [u16; LOOKBACKS.len()],
    /// Killers and the reply to the last move; `NO_MOVE` where there is none.
    pub specials: [MoveCode; 3],
    /// Squares that the other side attacks; empty where nobody asks.
    pub threats: Bitboard,
}

pub struct Picker {
    stage: Stage,
    table_move: MoveCode,
    context: Context,
    list: MoveList,
    next: usize,
    bad: arrayvec::ArrayVec<MoveCode, 64>,
    next_bad: usize,
    /// Hand out noisy moves only.
    noisy_only: bool,
    /// Exchanges must win at least this to be good; `None` orders by history.
    threshold: Option<i32>,
}

impl Picker {
    /// All moves.
    pub fn new(board: &Board, table_move: MoveCode, context: Context) -> Picker {
        Picker::build(board, table_move, context, false, None)
    }

    /// Noisy moves; with a threshold only those whose exchange reaches it.
    pub fn noisy(board: &Board, table_move: MoveCode, context: Context, threshold: Option<i32>) -> Picker {
        let keep = board.is_noisy(table_move);
        Picker::build(board, if keep { table_move } else { NO_MOVE }, context, true, threshold)
    }

    fn build(
        board: &Board,
        table_move: MoveCode,
        context: Context,
        noisy_only: bool,
        threshold: Option<i32>,
    ) -> Picker {
        let known = table_move != NO_MOVE && board.is_pseudo_legal(table_move) && board.is_legal(table_move);
        Picker {
            stage: Stage::Table,
            table_move: if known { table_move } else { NO_MOVE },
            context,
            list: MoveList::new(),
            next: 0,
            bad: arrayvec::ArrayVec::new(),
            next_bad: 0,
            noisy_only,
            threshold,
        }
    }

    /// From now on leave out quiet moves.
    pub fn skip_quiet(&mut self) {
        self.noisy_only = true;
        if matches!(self.stage, Stage::Special | Stage::MakeQuiet | Stage::Quiet) {
            self.stage = Stage::BadNoisy;
        }
    }

    pub fn next(
        &mut self,
        board: &Board,
        histories: &Histories,
        techniques: &Techniques,
    ) -> Option<MoveCode> {
        loop {
            match self.stage {
                Stage::Table => {
                    self.stage = Stage::MakeNoisy;
                    if self.table_move != NO_MOVE {
                        return Some(self.table_move);
                    }
                }
                Stage::MakeNoisy => {
                    board.noisy_moves(&mut self.list);
                    score_noisy(&mut self.list, board, histories, techniques);
                    self.stage = Stage::GoodNoisy;
                }
                Stage::GoodNoisy => match self.best() {
                    Some(scored) => {
                        if scored.code == self.table_move {
                            continue;
                        }
                        let forgiven = self.threshold.unwrap_or(-scored.score / CAPTURE_HISTORY_SHARE);
                        if !exchange::at_least(board, scored.code, forgiven) {
                            let _ = self.bad.try_push(scored.code);
                        } else if board.is_legal(scored.code) {
                            return Some(scored.code);
                        }
                    }
                    None if self.noisy_only => {
                        self.stage = if self.threshold.is_some() { Stage::Done } else { Stage::BadNoisy };
                    }
                    None => {
                        self.stage = Stage::Special;
                        self.next = 0;
                    }
                },
                Stage::Special => {
                    let index = self.next;
                    if index == self.context.specials.len() {
                        self.stage = Stage::MakeQuiet;
                        continue;
                    }
                    self.next += 1;
                    let code = self.context.specials[index];
                    let usable = code != NO_MOVE
                        && code != self.table_move
                        && !board.is_noisy(code)
                        && board.is_pseudo_legal(code)
                        && board.is_legal(code);
                    if usable && !self.context.specials[..index].contains(&code) {
                        return Some(code);
                    }
                    self.context.specials[index] = if usable { code } else { NO_MOVE };
                }
                Stage::MakeQuiet => {
                    self.list.clear();
                    self.next = 0;
                    board.quiet_moves(&mut self.list);
                    self.score_quiet(board, histories, techniques);
                    self.stage = Stage::Quiet;
                }
                Stage::Quiet => match self.best() {
                    Some(scored) => {
                        let tried =
                            scored.code == self.table_move || self.context.specials.contains(&scored.code);
                        if !tried && board.is_legal(scored.code) {
                            return Some(scored.code);
                        }
                    }
                    None => self.stage = Stage::BadNoisy,
                },
                Stage::BadNoisy => {
                    let Some(&code) = self.bad.get(self.next_bad) else {
                        self.stage = Stage::Done;
                        continue;
                    };
                    self.next_bad += 1;
                    if board.is_legal(code) {
                        return Some(code);
                    }
                }
                Stage::Done => return None,
            }
        }
    }

    /// Take the best of what is left in the list.
    #[inline]
    fn best(&mut self) -> Option<Scored> {
        let rest = &mut self.list[self.next..];
        let first = rest.first()?;
        let mut best = (0, first.score);
        for (index, scored) in rest.iter().enumerate().skip(1) {
            if scored.score > best.1 {
                best = (index, scored.score);
            }
        }
        rest.swap(0, best.0);
        self.next += 1;
        Some(self.list[self.next - 1])
    }

    fn score_quiet(&mut self, board: &Board, histories: &Histories, techniques: &Techniques) {
        for scored in &mut self.list {
            scored.score = quiet_history(board, scored.code, &self.context, histories, techniques);
            if scored.code.promotion().is_some() {
                scored.score -= 4 * HISTORY_LIMIT;
            }
        }
    }
}

/// What the histories think of a quiet move.
#[inline]
pub fn quiet_history(
    board: &Board,
    m: MoveCode,
    context: &Context,
    histories: &Histories,
    techniques: &Techniques,
) -> i32 {
    let mut score = 0;
    if techniques.butterfly_history {
        score += histories.butterfly(board, context.threats, m);
    }
    if techniques.continuation_history {
        let now = piece_to(board, m);
        let earlier = &context.earlier;
        score += histories.continuation(earlier[0], now)
            + histories.continuation(earlier[1], now)
            + histories.continuation(earlier[2], now) / 2;
    }
    score
}

fn score_noisy(list: &mut MoveList, board: &Board, histories: &Histories, techniques: &Techniques) {
    for scored in list {
        let code = scored.code;
        let promoted = match code.promotion() {
            None => 0,
            Some(shakmaty::Role::Queen) => PRICE[QUEEN] * VICTIM_WEIGHT,
            Some(_) => -PRICE[QUEEN] * VICTIM_WEIGHT,
        };
        let learnt = if techniques.capture_history {
            histories.capture(board, code) / 4
        } else {
            -PRICE[board.at(code.from()).role()]
        };
        scored.score = PRICE[board.victim(code)] * VICTIM_WEIGHT + promoted + learnt;
    }
}
