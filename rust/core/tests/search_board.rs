//! The board of the search is the rules library's board: same moves, same keys, same checks, move after move.

use std::collections::HashSet;

use shakmaty::{Chess, EnPassantMode, Position};
use tabiya_core::move_code::MoveCode;
use tabiya_core::playout::Random;
use tabiya_core::rules;
use tabiya_core::search::Board;

fn codes(position: &Chess) -> HashSet<u16> {
    position.legal_moves().into_iter().map(|m| MoveCode::of(m).0).collect()
}

/// Positions where castling, en passant, pins and promotions come up often.
const STARTS: [&str; 6] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
    "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1",
    "r3k2r/8/8/8/3pPp2/8/8/R3K1RR b KQkq e3 0 1",
];

#[test]
fn random_games_agree_with_the_rules_library() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let mut position = rules::from_fen(STARTS[seed as usize % STARTS.len()]).unwrap();
        let mut board = Board::new(&position);
        for _ in 0..120 {
            let legal = position.legal_moves();
            let made: HashSet<u16> = board.legal_moves().iter().map(|scored| scored.code.0).collect();
            let fen = rules::to_fen(&position);
            assert_eq!(made, codes(&position), "{fen}");
            if legal.is_empty() || position.halfmoves() > 99 {
                break;
            }
            let m = legal[random.below(legal.len())];
            let code = MoveCode::of(m);
            assert_eq!(board.to_shakmaty(code), m, "{fen}");
            board = board.after(code);
            position.play_unchecked(m);
            let fresh = Board::new(&position);
            assert_eq!(
                (board.key, board.pawn_key, board.piece_keys, board.checkers, board.pinned),
                (fresh.key, fresh.pawn_key, fresh.piece_keys, fresh.checkers, fresh.pinned),
                "{fen} {m}"
            );
            assert_eq!(board.checkers, position.checkers());
            assert_eq!(board.en_passant, position.ep_square(EnPassantMode::Legal));
            assert_eq!(u32::from(board.halfmoves), position.halfmoves());
        }
    }
}

#[test]
fn of_all_sixteen_bits_only_legal_moves_pass() {
    for seed in 0..12 {
        let mut random = Random::new(seed);
        let mut position = rules::from_fen(STARTS[seed as usize % STARTS.len()]).unwrap();
        for _ in 0..random.below(30) {
            let legal = position.legal_moves();
            if !legal.is_empty() {
                position.play_unchecked(legal[random.below(legal.len())]);
            }
        }
        let board = Board::new(&position);
        let passed: HashSet<u16> = (0..=u16::MAX)
            .filter(|&code| board.is_pseudo_legal(MoveCode(code)) && board.is_legal(MoveCode(code)))
            .collect();
        assert_eq!(passed, codes(&position), "{}", rules::to_fen(&position));
    }
}
