//! Quiescence: captures until nothing hangs, so that the evaluation is asked in quiet positions only.

use shakmaty::Bitboard;

use super::board::Board;
use super::evaluate::Evaluate;
use super::exchange::immediate_gain;
use super::generate::NO_MOVE;
use super::margins::DELTA_MARGIN;
use super::node::Search;
use super::picker::Picker;
use super::score::{INFINITE, MATE_FOUND, MAX_PLY, UNKNOWN, from_table, mated_in, to_table};
use super::table::{Bound, Entry};

/// Quiet answers to a check that are tried once one answer does not lose.
const QUIET_EVASIONS: u32 = 3;

impl<E: Evaluate> Search<'_, E> {
    pub fn quiesce<const PV: bool>(&mut self, board: &Board, ply: usize, mut alpha: i32, beta: i32) -> i32 {
        if self.must_stop() {
            return 0;
        }
        if PV {
            self.clear_line(ply);
            self.seldepth = self.seldepth.max(ply);
        }
        if self.is_draw(board, ply) {
            return self.draw_score();
        }
        let in_check = board.in_check();
        if ply >= MAX_PLY {
            return if in_check { 0 } else { self.evaluate(board) };
        }

        let table = self.shared.table;
        let entry = table.probe(board.key);
        if let Some(entry) = entry
            && !PV
            && self.techniques.table_cutoffs
            && entry.bound != Bound::None
        {
            let score = from_table(entry.score, ply);
            if entry.bound.decides(score >= beta) {
                return score;
            }
        }

        let (mut best, mut raw, mut base) = (-INFINITE, UNKNOWN, -INFINITE);
        if !in_check {
            raw = match entry {
                Some(entry) if entry.evaluation != UNKNOWN => entry.evaluation,
                _ => self.evaluate(board),
            };
            let evaluation = self.refined(board, raw);
            best = evaluation;
            if let Some(entry) = entry
                && entry.bound != Bound::None
            {
                let score = from_table(entry.score, ply);
                if score.abs() < MATE_FOUND && entry.bound.decides(score > best) {
                    best = score;
                }
            }
            if best >= beta {
                if entry.is_none() {
                    let bound = Bound::Lower;
                    let score = to_table(best, ply);
                    table.store(
                        board.key,
                        Entry { code: NO_MOVE, score, evaluation: raw, depth: 0, bound, on_pv: false },
                    );
                }
                return best;
            }
            alpha = alpha.max(best);
            base = evaluation + DELTA_MARGIN;
        }
        self.frame(ply).evaluation = UNKNOWN;

        let table_move = entry.map_or(NO_MOVE, |entry| entry.code);
        let threats = if in_check { self.threats(board) } else { Bitboard::EMPTY };
        let context = self.context(ply, threats);
        let mut picker = if in_check {
            Picker::new(board, table_move, context)
        } else {
            let threshold = self.techniques.quiescence_exchange.then_some(0);
            Picker::noisy(board, table_move, context, threshold)
        };
        let (mut best_move, mut moves, mut quiet_evasions) = (NO_MOVE, 0, 0);
        while let Some(m) = picker.next(board, self.histories, &self.techniques) {
            moves += 1;
            if best > -MATE_FOUND {
                if in_check {
                    if !board.is_noisy(m) {
                        quiet_evasions += 1;
                        if quiet_evasions >= QUIET_EVASIONS {
                            picker.skip_quiet();
                            continue;
                        }
                    }
                } else if self.techniques.delta_pruning {
                    let hope = base + immediate_gain(board, m);
                    if hope <= alpha {
                        best = best.max(hope);
                        continue;
                    }
                }
            }
            let child = self.make(board, m, ply);
            let score = -self.quiesce::<PV>(&child, ply + 1, -beta, -alpha);
            self.unmake();
            if self.stopped {
                return 0;
            }
            if score > best {
                best = score;
                if score > alpha {
                    best_move = m;
                    if PV {
                        self.extend_line(ply, m);
                    }
                    if score >= beta {
                        break;
                    }
                    alpha = score;
                }
            }
        }
        if in_check && moves == 0 {
            return mated_in(ply);
        }
        let bound = if best >= beta { Bound::Lower } else { Bound::Upper };
        let on_pv = entry.is_some_and(|entry| entry.on_pv);
        let score = to_table(best, ply);
        table.store(board.key, Entry { code: best_move, score, evaluation: raw, depth: 0, bound, on_pv });
        best
    }
}
