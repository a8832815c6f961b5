//! The numbers behind pruning and reductions, each with its name: margins in centipawns, depths in plies.

use std::sync::LazyLock;

/// Half width of the first aspiration window.
pub const ASPIRATION_WINDOW: i32 = 14;
pub const ASPIRATION_DEPTH: i32 = 4;

/// Least depth at which a missing table move costs a ply.
pub const INTERNAL_REDUCTION_DEPTH: i32 = 4;

pub const RAZOR_DEPTH: i32 = 4;
pub fn razor_margin(depth: i32) -> i32 {
    180 + 160 * depth * depth
}

pub const REVERSE_FUTILITY_DEPTH: i32 = 9;
pub fn reverse_futility_margin(depth: i32, improving: bool) -> i32 {
    75 * depth - if improving { 60 } else { 0 }
}

pub const NULL_MOVE_DEPTH: i32 = 3;
/// From this depth on a null-move cutoff is verified by a search without null moves.
pub const NULL_MOVE_VERIFIED: i32 = 14;
pub fn null_move_reduction(depth: i32, surplus: i32) -> i32 {
    4 + depth / 3 + (surplus / 160).clamp(0, 3)
}
/// The evaluation itself must come this near to the window for a null move.
pub fn null_move_margin(depth: i32) -> i32 {
    150 - 15 * depth
}

pub const PROBCUT_DEPTH: i32 = 5;
pub const PROBCUT_MARGIN: i32 = 160;
pub const PROBCUT_REDUCTION: i32 = 4;

/// How many moves are tried before quiet ones are left out.
pub fn late_move_count(depth: i32, improving: bool) -> i32 {
    (4 + depth * depth) / if improving { 1 } else { 2 }
}

pub const FUTILITY_DEPTH: i32 = 8;
pub fn futility_margin(reduced_depth: i32) -> i32 {
    90 + 95 * reduced_depth
}

pub const HISTORY_PRUNING_DEPTH: i32 = 5;
pub fn history_threshold(reduced_depth: i32) -> i32 {
    -1600 * (reduced_depth + 1)
}

pub const QUIET_EXCHANGE_DEPTH: i32 = 8;
pub fn quiet_exchange_margin(reduced_depth: i32) -> i32 {
    -22 * reduced_depth * reduced_depth
}
pub const NOISY_EXCHANGE_DEPTH: i32 = 7;
pub fn noisy_exchange_margin(depth: i32) -> i32 {
    -95 * depth
}

pub const SINGULAR_DEPTH: i32 = 7;
pub fn singular_margin(depth: i32) -> i32 {
    2 * depth
}
/// So far below the singular window every other move must stay for a second extra ply.
pub const DOUBLE_EXTENSION_MARGIN: i32 = 18;
/// Second extra plies allowed on one line.
pub const DOUBLE_EXTENSIONS: u8 = 6;

/// History that shifts a reduction by one ply.
pub const HISTORY_PER_PLY: i32 = 9000;
/// A reduced search that beats the best by this much is repeated one ply deeper.
pub const DEEPER_MARGIN: i32 = 55;
pub const SHALLOWER_MARGIN: i32 = 8;

/// What a capture in quiescence may gain beside the piece it takes.
pub const DELTA_MARGIN: i32 = 160;

/// Base reductions by depth and number of the move, quiet and noisy.
static REDUCTIONS: LazyLock<Box<[[[i8; 64]; 64]; 2]>> = LazyLock::new(|| {
    let mut table = Box::new([[[0; 64]; 64]; 2]);
    for depth in 1..64_usize {
        for count in 1..64_usize {
            let product = (depth as f64).ln() * (count as f64).ln();
            table[0][depth][count] = (0.8 + product / 2.25) as i8;
            table[1][depth][count] = (product / 3.2) as i8;
        }
    }
    table
});

#[inline]
pub fn reduction(depth: i32, count: i32, quiet: bool) -> i32 {
    let (depth, count) = (depth.clamp(0, 63) as usize, count.clamp(0, 63) as usize);
    i32::from(REDUCTIONS[usize::from(!quiet)][depth][count])
}

/// What a move that ended a node earns in the histories, and what the moves tried before it lose.
pub fn history_bonus(depth: i32) -> i32 {
    (170 * depth - 80).min(1700)
}
