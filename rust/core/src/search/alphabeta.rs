//! The principal variation search: one node, from the table to the table.
//!
//! What may end a node before its first move is in `shortcuts`; what a move
//! teaches is in `lessons`.

use super::board::Board;
use super::evaluate::Evaluate;
use super::exchange;
use super::generate::NO_MOVE;
use super::lessons::Tried;
use super::margins::*;
use super::node::Search;
use super::picker::{Picker, quiet_history};
use super::score::{INFINITE, MATE, MATE_FOUND, MAX_PLY, UNKNOWN, from_table, mated_in, to_table};
use super::shortcuts::Situation;
use super::table::{Bound, Entry};

/// The depth of a table entry that holds nothing but an evaluation.
const EVALUATION_ONLY: i32 = -2;

impl<E: Evaluate> Search<'_, E> {
    /// The score of a position for the side to move, at least `alpha` and at most `beta` where it lies between.
    ///
    /// `cut` is a guess: this node's parent expects it to fail high.
    pub fn negamax<const PV: bool>(
        &mut self,
        board: &Board,
        ply: usize,
        mut alpha: i32,
        mut beta: i32,
        mut depth: i32,
        cut: bool,
    ) -> i32 {
        if depth <= 0 {
            return self.quiesce::<PV>(board, ply, alpha, beta);
        }
        if self.must_stop() {
            return 0;
        }
        let root = ply == 0;
        let in_check = board.in_check();
        if PV {
            self.clear_line(ply);
            self.seldepth = self.seldepth.max(ply);
        }
        if !root {
            if self.is_draw(board, ply) {
                return self.draw_score();
            }
            if ply >= MAX_PLY {
                return if in_check { 0 } else { self.evaluate(board) };
            }
            if self.techniques.mate_distance {
                alpha = alpha.max(mated_in(ply));
                beta = beta.min(-mated_in(ply + 1));
                if alpha >= beta {
                    return alpha;
                }
            }
        }

        let table = self.shared.table;
        let excluded = self.frame(ply).excluded;
        let singular_search = excluded != NO_MOVE;
        let entry = if singular_search { None } else { table.probe(board.key) };
        let table_score = entry
            .filter(|entry| entry.bound != Bound::None)
            .map_or(UNKNOWN, |entry| from_table(entry.score, ply));
        let table_move = match entry {
            _ if root => self.roots[self.line_index].code,
            Some(entry) => entry.code,
            None => NO_MOVE,
        };
        let on_pv = PV || entry.is_some_and(|entry| entry.on_pv);
        if let Some(entry) = entry
            && !PV
            && self.techniques.table_cutoffs
            && table_score != UNKNOWN
            && entry.depth >= depth
            && entry.bound.decides(table_score >= beta)
            && board.halfmoves < 90
        {
            return table_score;
        }

        let raw = match entry {
            _ if in_check || singular_search => UNKNOWN,
            Some(entry) if entry.evaluation != UNKNOWN => entry.evaluation,
            _ => self.evaluate(board),
        };
        let evaluation = if in_check {
            UNKNOWN
        } else if singular_search {
            self.frame(ply).evaluation
        } else {
            self.refined(board, raw)
        };
        self.frame(ply).evaluation = evaluation;
        if raw != UNKNOWN && entry.is_none() {
            // Whatever becomes of this node, its evaluation need not be computed again.
            let (code, bound) = (NO_MOVE, Bound::None);
            table.store(
                board.key,
                Entry { code, score: UNKNOWN, evaluation: raw, depth: EVALUATION_ONLY, bound, on_pv },
            );
        }
        // A stored score knows more than the evaluation, on the side that its bound speaks of.
        let estimate = match entry {
            Some(entry) if table_score != UNKNOWN && entry.bound.decides(table_score > evaluation) => {
                table_score
            }
            _ => evaluation,
        };
        let improving = self.is_improving(ply, in_check);
        self.frame(ply + 2).killers = [NO_MOVE; 2];
        self.frame(ply + 2).cutoffs = 0;
        if root {
            self.frame(1).cutoffs = 0;
        }

        if !PV && !in_check && !singular_search {
            let situation = Situation { beta, depth, evaluation, estimate, improving, cut, table_move };
            if let Some(score) = self.shortcut(board, ply, alpha, &situation) {
                return score;
            }
        }
        if self.techniques.internal_reduction
            && depth >= INTERNAL_REDUCTION_DEPTH
            && table_move == NO_MOVE
            && !singular_search
            && (PV || cut)
        {
            depth -= 1;
        }

        let context = self.context(ply, self.threats(board));
        let mut picker = Picker::new(board, table_move, context);
        let may_prune = !root && board.has_pieces(board.turn);
        let table_move_noisy = table_move != NO_MOVE && board.is_noisy(table_move);
        let (mut best, mut best_move, mut count) = (-INFINITE, NO_MOVE, 0);
        let mut tried = Tried::default();
        let old_alpha = alpha;

        while let Some(m) = picker.next(board, self.histories, &self.techniques) {
            if m == excluded || (root && !self.roots[self.line_index..].iter().any(|root| root.code == m)) {
                continue;
            }
            count += 1;
            let quiet = !board.is_noisy(m);
            let history = if quiet {
                quiet_history(board, m, &context, self.histories, &self.techniques)
            } else {
                self.histories.capture(board, m)
            };
            if may_prune && best > -MATE_FOUND {
                let reduced = (depth - reduction(depth, count, quiet)).max(0);
                if quiet {
                    if self.techniques.late_move_pruning && count > late_move_count(depth, improving) {
                        picker.skip_quiet();
                        continue;
                    }
                    if self.techniques.futility
                        && !in_check
                        && reduced <= FUTILITY_DEPTH
                        && evaluation + futility_margin(reduced) + history / 128 <= alpha
                    {
                        picker.skip_quiet();
                        continue;
                    }
                    if self.techniques.history_pruning
                        && reduced <= HISTORY_PRUNING_DEPTH
                        && history < history_threshold(reduced)
                    {
                        continue;
                    }
                    if self.techniques.exchange_pruning
                        && reduced <= QUIET_EXCHANGE_DEPTH
                        && !exchange::at_least(board, m, quiet_exchange_margin(reduced))
                    {
                        continue;
                    }
                } else if self.techniques.exchange_pruning
                    && depth <= NOISY_EXCHANGE_DEPTH
                    && !exchange::at_least(board, m, noisy_exchange_margin(depth) - history / 48)
                {
                    continue;
                }
            }

            let mut extension = 0;
            if self.techniques.singular_extensions
                && !root
                && m == table_move
                && !singular_search
                && depth >= SINGULAR_DEPTH
                && ply < 2 * self.root_depth
                && let Some(entry) = entry
                && entry.depth >= depth - 3
                && matches!(entry.bound, Bound::Lower | Bound::Exact)
                && table_score.abs() < MATE_FOUND
            {
                let target = table_score - singular_margin(depth);
                self.frame(ply).excluded = m;
                let score = self.negamax::<false>(board, ply, target - 1, target, (depth - 1) / 2, cut);
                self.frame(ply).excluded = NO_MOVE;
                if self.stopped {
                    return 0;
                }
                if score < target {
                    extension = 1;
                    let doubles = self.frame(ply).double_extensions;
                    if !PV && score < target - DOUBLE_EXTENSION_MARGIN && doubles < DOUBLE_EXTENSIONS {
                        extension = 2;
                    }
                } else if target >= beta && target.abs() < MATE_FOUND {
                    return target; // two moves fail high here: surely one of them does
                } else if table_score >= beta {
                    extension = -2;
                } else if cut {
                    extension = -1;
                }
            }

            let nodes_before = self.nodes;
            let child = self.make(board, m, ply);
            let doubles = self.frame(ply).double_extensions;
            self.frame(ply + 1).double_extensions = doubles + u8::from(extension == 2);
            let mut next_depth = depth - 1 + extension;
            let mut score = -INFINITE;
            let reduced_search = self.techniques.late_move_reductions
                && depth >= 2
                && count > 1 + i32::from(root)
                && (quiet || !PV);
            let mut full = !PV || count > 1;
            if reduced_search {
                let mut less = reduction(depth, count, quiet);
                less -= i32::from(on_pv) + i32::from(child.in_check());
                less += 2 * i32::from(cut)
                    + i32::from(!improving && quiet)
                    + i32::from(table_move_noisy && quiet);
                less += i32::from(self.frame(ply + 1).cutoffs > 3);
                if self.techniques.history_reductions {
                    less -= history / if quiet { HISTORY_PER_PLY } else { HISTORY_PER_PLY / 2 };
                }
                let shallow = (next_depth - less).clamp(1, next_depth.max(1));
                score = -self.negamax::<false>(&child, ply + 1, -alpha - 1, -alpha, shallow, true);
                full = score > alpha && shallow < next_depth;
                if full {
                    next_depth += i32::from(score > best + DEEPER_MARGIN);
                    next_depth -= i32::from(score < best + SHALLOWER_MARGIN);
                    full = next_depth > shallow;
                }
            }
            if full {
                score = -self.negamax::<false>(&child, ply + 1, -alpha - 1, -alpha, next_depth, !cut);
            }
            if PV && (count == 1 || score > alpha) {
                score = -self.negamax::<true>(&child, ply + 1, -beta, -alpha, next_depth, false);
            }
            self.unmake();
            if self.stopped {
                return 0;
            }
            if root {
                self.note_root_move(m, score, count, alpha, nodes_before);
            }

            if score > best {
                best = score;
                if score > alpha {
                    best_move = m;
                    if PV {
                        self.extend_line(ply, m);
                    }
                    if score >= beta {
                        let frame = self.frame(ply);
                        frame.cutoffs = frame.cutoffs.saturating_add(1);
                        break;
                    }
                    alpha = score;
                }
            }
            let _ = if quiet { tried.quiet.try_push(m) } else { tried.noisy.try_push(m) };
        }

        if count == 0 {
            return match (singular_search, in_check) {
                (true, _) => alpha,
                (false, true) => mated_in(ply),
                (false, false) => 0,
            };
        }
        if best >= beta {
            self.learn_from_cutoff(board, &context, ply, best_move, depth, &tried);
        }
        let later_line = root && self.line_index > 0;
        if !singular_search && !later_line {
            let bound = match best {
                _ if best >= beta => Bound::Lower,
                _ if PV && best > old_alpha => Bound::Exact,
                _ => Bound::Upper,
            };
            let score = to_table(best.clamp(-MATE, MATE), ply);
            table.store(board.key, Entry { code: best_move, score, evaluation: raw, depth, bound, on_pv });
            if !in_check && (best_move == NO_MOVE || !board.is_noisy(best_move)) {
                self.learn_from_error(board, depth, best, bound, evaluation);
            }
        }
        best
    }

    /// Whether the side to move stands better than at its last turn.
    fn is_improving(&self, ply: usize, in_check: bool) -> bool {
        if in_check || !self.techniques.improving {
            return false;
        }
        let now = self.earlier(ply, 0).evaluation;
        let before = [2, 4].map(|back| self.earlier(ply, back).evaluation);
        match before.into_iter().find(|&evaluation| evaluation != UNKNOWN) {
            Some(before) => now > before,
            None => true,
        }
    }
}
