//! A classical evaluation: material, squares, mobility, pawns and the king's surroundings, from opening to endgame.
//!
//! It stands in where there is no network and is the reference that a network
//! has to beat. The square tables are sums of simple ideas (centre, advance,
//! home), not tuned numbers.

use shakmaty::attacks::{king_attacks, pawn_attacks};
use shakmaty::{Bitboard, Chess, Color, File, Square};

use super::board::Board;
use super::evaluate::Evaluate;
use super::piece::{BISHOP, KING, KNIGHT, PAWN, QUEEN, ROOK};
use crate::move_code::MoveCode;

/// Opening and endgame values, blended by the pieces left.
type Pair = (i32, i32);

const MATERIAL: [Pair; 6] = [(82, 100), (325, 300), (345, 315), (475, 530), (980, 970), (0, 0)];
const PHASE: [i32; 6] = [0, 1, 1, 2, 4, 0];
const FULL_PHASE: i32 = 24;
/// Per square a piece may go to, about an average of as many squares.
const MOBILITY: [(Pair, i32); 6] =
    [((0, 0), 0), ((5, 4), 4), ((5, 5), 6), ((2, 4), 7), ((1, 4), 13), ((0, 0), 0)];
const BISHOP_PAIR: Pair = (28, 50);
const DOUBLED: Pair = (-8, -18);
const ISOLATED: Pair = (-12, -12);
const OPEN_FILE: Pair = (28, 10);
const HALF_OPEN_FILE: Pair = (12, 6);
/// By steps already made from the second rank.
const PASSED: [Pair; 7] = [(0, 6), (0, 10), (5, 22), (18, 44), (42, 80), (75, 140), (0, 0)];
/// Per attacked square beside the enemy king, by attacking role.
const KING_PRESSURE: [i32; 6] = [0, 7, 6, 8, 10, 0];
const SHIELD: Pair = (11, 0);
const TEMPO: i32 = 12;

/// How central a square is: 0 in the corner, 6 in the middle.
const fn centrality(square: usize) -> i32 {
    let (file, rank) = (square as i32 & 7, square as i32 >> 3);
    let file = if file < 4 { file } else { 7 - file };
    let rank = if rank < 4 { rank } else { 7 - rank };
    file + rank
}

/// A square's worth for White's piece of that role.
const fn square_value(role: usize, square: usize) -> Pair {
    let centre = centrality(square);
    let (file, rank) = (square as i32 & 7, square as i32 >> 3);
    let middle_files = if file < 4 { file } else { 7 - file };
    match role {
        PAWN => {
            let centre_step = if middle_files == 3 && (rank == 3 || rank == 4) { 22 } else { 0 };
            (centre_step + 3 * middle_files * (rank - 1) / 2 - 6, 6 * (rank - 1) - 6)
        }
        KNIGHT => (
            9 * centre - 32 + if rank == 0 { -8 } else { 0 } + if rank >= 3 && rank <= 5 { 8 } else { 0 },
            7 * centre - 22,
        ),
        BISHOP => (4 * centre - 10 + if rank == 0 { -12 } else { 0 }, 4 * centre - 10),
        ROOK => (3 * middle_files - 6 + if rank == 6 { 16 } else { 0 }, if rank == 6 { 14 } else { 0 }),
        QUEEN => (2 * centre - 6 + if rank == 0 { 2 } else { 0 }, 6 * centre - 18),
        _ => {
            let sheltered = if rank == 0 && middle_files <= 2 && file != 3 { 28 } else { 0 };
            (sheltered - 16 * rank - 8 * middle_files + 10, 9 * centre - 26)
        }
    }
}

static SQUARES: [[Pair; 64]; 6] = {
    let mut table = [[(0, 0); 64]; 6];
    let mut role = 0;
    while role < 6 {
        let mut square = 0;
        while square < 64 {
            let (opening, endgame) = square_value(role, square);
            table[role][square] = (MATERIAL[role].0 + opening, MATERIAL[role].1 + endgame);
            square += 1;
        }
        role += 1;
    }
    table
};

/// The classical evaluation; it keeps nothing along the line.
#[derive(Clone, Copy, Default)]
pub struct Handmade;

impl Evaluate for Handmade {
    fn reset(&mut self, _root: &Board, _position: &Chess) {}
    fn push(&mut self, _before: &Board, _m: MoveCode, _after: &Board) {}
    fn pop(&mut self) {}

    fn evaluate(&mut self, board: &Board) -> i32 {
        let white = half(board, Color::White);
        let black = half(board, Color::Black);
        let phase = (white.phase + black.phase).min(FULL_PHASE);
        let (opening, endgame) = (white.sum.0 - black.sum.0, white.sum.1 - black.sum.1);
        let blended = (opening * phase + endgame * (FULL_PHASE - phase)) / FULL_PHASE;
        let blended = blended * drawishness(board, blended) / 16;
        TEMPO + if board.turn == Color::White { blended } else { -blended }
    }
}

/// Sixteenths of a score that count: little where the better side has no pawns and too little else.
fn drawishness(board: &Board, score: i32) -> i32 {
    let strong = if score > 0 { Color::White } else { Color::Black };
    if board.of(strong, PAWN).any() {
        return 16;
    }
    let worth = |color| {
        (KNIGHT..=QUEEN).map(|role| MATERIAL[role].1 * board.of(color, role).count() as i32).sum::<i32>()
    };
    if worth(strong) - worth(!strong) <= MATERIAL[BISHOP].1 { 3 } else { 16 }
}

struct Half {
    sum: Pair,
    phase: i32,
}

impl Half {
    #[inline]
    fn add(&mut self, value: Pair, times: i32) {
        self.sum.0 += value.0 * times;
        self.sum.1 += value.1 * times;
    }
}

/// One side's share of the evaluation.
fn half(board: &Board, us: Color) -> Half {
    let mut half = Half { sum: (0, 0), phase: 0 };
    let occupied = board.occupied();
    let own = board.color(us);
    let their_king = king_attacks(board.king(!us));
    let unsafe_squares = all_pawn_attacks(!us, board.of(!us, PAWN));
    let free = !own & !unsafe_squares;
    let flip = if us == Color::White { 0 } else { 56 };
    for role in PAWN..=KING {
        for square in board.of(us, role) {
            half.add(SQUARES[role][square.to_usize() ^ flip], 1);
            half.phase += PHASE[role];
            if (KNIGHT..=QUEEN).contains(&role) {
                let attacks = board.piece_attacks(role, square, occupied);
                let (value, average) = MOBILITY[role];
                half.add(value, (attacks & free).count() as i32 - average);
                half.sum.0 += KING_PRESSURE[role] * (attacks & their_king).count() as i32;
            }
        }
    }
    if board.of(us, BISHOP).more_than_one() {
        half.add(BISHOP_PAIR, 1);
    }
    pawns(board, us, &mut half);
    let (own_pawns, their_pawns) = (board.of(us, PAWN), board.of(!us, PAWN));
    for rook in board.of(us, ROOK) {
        let file = Bitboard::from_file(rook.file());
        if (file & own_pawns).is_empty() {
            half.add(if (file & their_pawns).is_empty() { OPEN_FILE } else { HALF_OPEN_FILE }, 1);
        }
    }
    let king = board.king(us);
    half.add(SHIELD, (king_attacks(king) & ahead(us, king) & own_pawns).count() as i32);
    half
}

fn pawns(board: &Board, us: Color, half: &mut Half) {
    let (own, theirs) = (board.of(us, PAWN), board.of(!us, PAWN));
    for square in own {
        let file = Bitboard::from_file(square.file());
        let front = ahead(us, square);
        if (file & front & own).any() {
            half.add(DOUBLED, 1);
        }
        let beside = neighbours(square.file());
        if (beside & own).is_empty() {
            half.add(ISOLATED, 1);
        }
        if ((file | beside) & front & theirs).is_empty() {
            let rank = square.to_usize() >> 3;
            let steps = if us == Color::White { rank - 1 } else { 6 - rank };
            half.add(PASSED[steps.min(6)], 1);
        }
    }
}

fn all_pawn_attacks(color: Color, pawns: Bitboard) -> Bitboard {
    pawns.into_iter().fold(Bitboard::EMPTY, |all, square| all | pawn_attacks(color, square))
}

fn neighbours(file: File) -> Bitboard {
    [file.offset(-1), file.offset(1)]
        .into_iter()
        .flatten()
        .map(Bitboard::from_file)
        .fold(Bitboard::EMPTY, |all, one| all | one)
}

/// Every square on the ranks in front of one.
fn ahead(color: Color, square: Square) -> Bitboard {
    let rank = square.to_u32() >> 3;
    if color == Color::White {
        if rank == 7 { Bitboard::EMPTY } else { Bitboard(u64::MAX << (8 * (rank + 1))) }
    } else {
        Bitboard((1_u64 << (8 * rank)) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules;

    fn of(fen: &str) -> i32 {
        Handmade.evaluate(&Board::new(&rules::from_fen(fen).unwrap()))
    }

    #[test]
    fn the_start_is_worth_the_move_alone() {
        assert_eq!(of("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"), TEMPO);
    }

    #[test]
    fn colours_are_treated_alike() {
        let white = of("r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R w KQkq - 0 1");
        let black = of("rnbqk2r/pppp1ppp/5n2/2b1p3/4P3/2N5/PPPP1PPP/R1BQKBNR b KQkq - 0 1");
        assert_eq!(white, black);
    }

    #[test]
    fn a_bishop_alone_wins_nothing() {
        assert!(of("4k3/8/8/8/8/8/8/2B1K3 w - - 0 1") < 100);
        assert!(of("4k3/8/8/8/8/8/8/2R1K3 w - - 0 1") > 300);
    }
}
