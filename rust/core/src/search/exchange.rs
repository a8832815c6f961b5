//! Static exchange evaluation: what a square is worth when both sides take on it, cheapest piece first.

use shakmaty::attacks::{bishop_attacks, rook_attacks};
use shakmaty::{Bitboard, Role};

use super::board::{Board, castling_rook};
use super::piece::{BISHOP, KING, PAWN, QUEEN, ROOK, number_of};
use crate::move_code::MoveCode;

/// Pawn to king, and nothing for an empty square. A king is never taken, so its price is free.
pub const PRICE: [i32; 7] = [100, 310, 330, 500, 950, 0, 0];

/// Whether the exchange that a move begins wins at least `threshold`.
///
/// Pins are looked at only so far as that a pinned piece of either side is
/// not held back: the answer is an estimate that orders and prunes.
pub fn at_least(board: &Board, m: MoveCode, threshold: i32) -> bool {
    let (from, to) = (m.from(), m.to());
    let moved = board.at(from).role();
    if moved == KING && castling_rook(from, to).is_some() {
        return threshold <= 0;
    }
    let mut gain = PRICE[board.victim(m)];
    let mut standing = PRICE[moved];
    if let Some(role) = m.promotion() {
        standing = PRICE[number_of(role)];
        gain += standing - PRICE[PAWN];
    }
    // `balance` is what the side that is about to move would be left short of if it stopped here.
    let mut balance = gain - threshold;
    if balance < 0 {
        return false;
    }
    balance = standing - balance;
    if balance <= 0 {
        return true;
    }

    let mut occupied = (board.occupied() ^ Bitboard::from(from)) | Bitboard::from(to);
    if board.en_passant == Some(to) && moved == PAWN {
        occupied ^= Bitboard(1 << (to.to_u32() ^ 8));
    }
    let diagonal = board.role(BISHOP) | board.role(QUEEN);
    let straight = board.role(ROOK) | board.role(QUEEN);
    let mut attackers = board.attackers(to, occupied) & occupied;
    let mut turn = !board.turn;
    let mut mover_wins = true;
    loop {
        let ours = attackers & board.color(turn);
        if ours.is_empty() {
            return mover_wins;
        }
        let role = (PAWN..=KING).find(|&role| (ours & board.role(role)).any()).unwrap_or(KING);
        if role == KING {
            // A king may take only what nobody defends.
            return if (attackers & board.color(!turn)).any() { mover_wins } else { !mover_wins };
        }
        mover_wins = !mover_wins;
        balance = PRICE[role] - balance;
        if balance < i32::from(mover_wins) {
            return mover_wins;
        }
        occupied ^= (ours & board.role(role)).isolate_first();
        if matches!(role, PAWN | BISHOP | QUEEN) {
            attackers |= bishop_attacks(to, occupied) & diagonal;
        }
        if matches!(role, ROOK | QUEEN) {
            attackers |= rook_attacks(to, occupied) & straight;
        }
        attackers &= occupied;
        turn = !turn;
    }
}

/// The price of what a move takes and promotes to.
#[inline]
pub fn immediate_gain(board: &Board, m: MoveCode) -> i32 {
    let promoted = if m.promotion() == Some(Role::Queen) { PRICE[QUEEN] - PRICE[PAWN] } else { 0 };
    PRICE[board.victim(m)] + promoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules;

    /// The largest threshold that the exchange still reaches.
    fn value(fen: &str, text: &str) -> i32 {
        let position = rules::from_fen(fen).unwrap();
        let m = MoveCode::of(rules::parse_move(&position, text).unwrap());
        let board = Board::new(&position);
        (-1100..=1100).rev().find(|&threshold| at_least(&board, m, threshold)).unwrap()
    }

    #[test]
    fn exchanges_are_counted_to_the_end() {
        for (fen, text, expected) in [
            ("1k1r4/1pp4p/p7/4p3/8/P5P1/1PP4P/2K1R3 w - - 0 1", "Rxe5", 100),
            ("1k1r3q/1ppn3p/p4b2/4p3/8/P2N2P1/1PP1R1BP/2K1Q3 w - - 0 1", "Nxe5", 100 - 310),
            ("4k3/8/8/3p4/4P3/8/8/4K3 w - - 0 1", "exd5", 100),
            ("4k3/8/2p5/3p4/4P3/8/8/4K3 w - - 0 1", "exd5", 0),
            ("4k3/8/8/8/8/8/3q4/3RK3 w - - 0 1", "Kxd2", 950),
            ("4k3/3r4/8/8/8/8/3q4/3RK3 w - - 0 1", "Rxd2", 950 - 500 + 500),
            ("4k3/8/8/3r4/8/8/3q4/4K3 w - - 0 1", "Ke1f1", 0),
            ("4k3/P7/8/8/8/8/8/4K3 w - - 0 1", "a8=Q", 950 - 100),
            ("1r2k3/P7/8/8/8/8/8/4K3 w - - 0 1", "a8=Q", -100),
            ("4k3/8/8/8/3pP3/8/8/4K3 b - e3 0 1", "dxe3", 100),
            ("4k3/8/8/8/3pP3/8/8/2B1K3 b - e3 0 1", "dxe3", 0),
            ("4k2r/8/8/8/8/8/8/4K2R w K - 0 1", "O-O", 0),
        ] {
            assert_eq!(value(fen, text), expected, "{text} in {fen}");
        }
    }
}
