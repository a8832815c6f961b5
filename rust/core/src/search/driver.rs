//! Iterative deepening: one depth after the other, a window around the last score, until the limits say stop.

use std::time::Duration;

use shakmaty::Chess;

use super::board::Board;
use super::evaluate::Evaluate;
use super::margins::{ASPIRATION_DEPTH, ASPIRATION_WINDOW};
use super::node::{RootMove, Search};
use super::score::{INFINITE, MATE, MATE_FOUND, MAX_PLY};
use crate::move_code::MoveCode;

/// What a search tells while it runs, one line of play at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    pub depth: u32,
    pub seldepth: u32,
    /// 1 for the best line, 2 for the second best, and so on.
    pub multipv: usize,
    pub score: i32,
    pub nodes: u64,
    pub time: Duration,
    pub hashfull: u32,
    pub pv: Vec<MoveCode>,
}

impl Info {
    pub fn nodes_per_second(&self) -> u64 {
        (self.nodes as f64 / self.time.as_secs_f64().max(1e-6)) as u64
    }
}

/// How much longer to think while the best move has been the same for so many iterations.
const STABILITY: [f64; 5] = [1.7, 1.25, 1.05, 0.9, 0.8];

/// Best first; moves without a score of this iteration stay in the last one's order.
fn sort(roots: &mut [RootMove]) {
    roots.sort_by_key(|root| std::cmp::Reverse((root.score, root.previous)));
}

impl<E: Evaluate> Search<'_, E> {
    /// Search until a limit is reached; the last finished depth comes back. The main thread reports.
    pub fn deepen(&mut self, board: &Board, position: &Chess, report: &mut dyn FnMut(&Info)) -> u32 {
        self.evaluator.reset(board, position);
        let shared = self.shared;
        let deepest = shared.limits.depth.unwrap_or(MAX_PLY as u32 - 8).clamp(1, MAX_PLY as u32 - 8) as i32;
        let lines = shared.lines.clamp(1, self.roots.len());
        let (mut finished, mut stable, mut last_best) = (0, 0, self.roots[0].code);
        let mut average = self.roots[0].score;
        for depth in 1..=deepest {
            for root in &mut self.roots {
                root.previous = root.score;
            }
            self.root_depth = depth as usize;
            for index in 0..lines {
                self.line_index = index;
                self.seldepth = 0;
                for root in &mut self.roots[index..] {
                    root.score = -INFINITE;
                }
                self.search_window(board, depth);
                sort(&mut self.roots[..=index]);
                if self.stopped {
                    break;
                }
            }
            self.line_index = 0;
            self.publish_nodes();
            if self.stopped {
                break;
            }
            finished = depth as u32;
            if self.thread != 0 {
                continue;
            }
            self.report(finished, lines, report);
            let best = &self.roots[0];
            if let Some(mate) = shared.limits.mate
                && best.score > MATE_FOUND
                && (MATE - best.score + 1) / 2 <= mate as i32
            {
                break;
            }
            stable = if best.code == last_best { (stable + 1).min(STABILITY.len() - 1) } else { 0 };
            last_best = best.code;
            let effort = best.nodes as f64 / self.nodes.max(1) as f64;
            let falling = 1.0 + f64::from((average - best.score).clamp(-60, 120)) / 200.0;
            average = if depth == 1 { best.score } else { (2 * average + best.score) / 3 };
            let factor = STABILITY[stable] * falling * (1.5 - effort) * 1.25;
            if depth > 1 && shared.deadline.is_enough(factor) {
                break;
            }
        }
        if self.stopped && self.thread == 0 {
            self.report(finished + 1, lines, report);
        }
        finished
    }

    /// Search one depth within a window that widens until the score lies inside.
    fn search_window(&mut self, board: &Board, depth: i32) {
        let last = self.roots[self.line_index].previous;
        let (mut alpha, mut beta) = (-INFINITE, INFINITE);
        let mut width = ASPIRATION_WINDOW + last.abs().min(2000) / 60;
        if self.techniques.aspiration && depth >= ASPIRATION_DEPTH && last.abs() < MATE_FOUND {
            (alpha, beta) = (last - width, last + width);
        }
        let mut less = 0;
        loop {
            let score = self.negamax::<true>(board, 0, alpha, beta, (depth - less).max(1), false);
            sort(&mut self.roots[self.line_index..]);
            if self.stopped {
                return;
            }
            if score <= alpha {
                beta = (alpha + beta) / 2;
                alpha = (score - width).max(-INFINITE);
                less = 0;
            } else if score >= beta {
                beta = (score + width).min(INFINITE);
                less = (less + 1).min(3);
            } else {
                return;
            }
            width += width / 2;
            if width > 600 {
                (alpha, beta) = (-INFINITE, INFINITE);
            }
        }
    }

    /// Keep what the search of a root move found; moves that did not raise the window sort behind those that did.
    pub fn note_root_move(&mut self, m: MoveCode, score: i32, count: i32, alpha: i32, nodes_before: u64) {
        let seldepth = self.seldepth;
        let nodes = self.nodes - nodes_before;
        let raised = count == 1 || score > alpha;
        let mut line = Vec::new();
        if raised {
            line.push(m);
            line.extend_from_slice(self.line(1));
        }
        let root = self.roots.iter_mut().find(|root| root.code == m).expect("only root moves are searched");
        root.nodes += nodes;
        if raised {
            root.score = score;
            root.seldepth = seldepth;
            root.line = line;
        } else {
            root.score = -INFINITE;
        }
    }

    fn report(&self, depth: u32, lines: usize, report: &mut dyn FnMut(&Info)) {
        self.publish_nodes();
        for (index, root) in self.roots.iter().take(lines).enumerate() {
            // A search that was stopped early has no new score for some moves.
            let (score, depth) =
                if root.score == -INFINITE { (root.previous, depth - 1) } else { (root.score, depth) };
            if score == -INFINITE || root.line.is_empty() {
                continue;
            }
            report(&Info {
                depth: depth.max(1),
                seldepth: root.seldepth.max(1) as u32,
                multipv: index + 1,
                score,
                nodes: self.shared.total_nodes(),
                time: self.shared.deadline.elapsed(),
                hashfull: self.shared.table.fullness(),
                pv: root.line.clone(),
            });
        }
    }
}
