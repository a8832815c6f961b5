//! A position in 32 bytes, laid out so that numpy and a GPU can read it too.
//!
//! bytes 0–7    occupied squares, little-endian, a1 = bit 0
//! bytes 8–23   one nibble per occupied square in ascending order, low nibble
//!              first: 0–5 White's P N B R Q K, 8–13 Black's
//! byte 24      bit 0 Black to move; bits 1–4 castling rights K Q k q
//! byte 25      en passant square if such a capture is legal, else 255
//! byte 26      halfmove clock, at most 255
//! byte 27      how often the position stood before in its game, at most 2
//! bytes 28–29  fullmove number, little-endian
//! bytes 30–31  zero

use std::num::NonZeroU32;

use shakmaty::{
    Bitboard, Board, ByColor, ByRole, CastlingMode, CastlingSide, Chess, Color, EnPassantMode, FromSetup,
    Position, PositionError, Setup, Square,
};

use crate::error::{Error, Result};

pub const BYTES: usize = 32;
pub const NO_EN_PASSANT: u8 = 255;

pub type Packed = [u8; BYTES];

/// Pack a position that stood `repetitions` times before.
///
/// Every position that this crate lets in has at most 32 pieces.
pub fn pack(position: &Chess, repetitions: u32) -> Packed {
    let board = position.board();
    let mut packed = [0u8; BYTES];
    let occupied = board.occupied();
    packed[..8].copy_from_slice(&u64::from(occupied).to_le_bytes());
    let roles = [board.knights(), board.bishops(), board.rooks(), board.queens(), board.kings()];
    let bits = |b: Bitboard| u64::from(b);
    // The nibble's four bits are four bitboards: role in binary, then colour.
    let low = bits(roles[0]) | bits(roles[2]) | bits(roles[4]);
    let middle = bits(roles[1]) | bits(roles[2]);
    let high = bits(roles[3]) | bits(roles[4]);
    let black = bits(board.black());
    let mut rest = bits(occupied);
    let mut words = [0u64; 2];
    let mut at = 0;
    while rest != 0 && at < 32 {
        let square = rest.trailing_zeros();
        rest &= rest - 1;
        let nibble = (low >> square & 1)
            | (middle >> square & 1) << 1
            | (high >> square & 1) << 2
            | (black >> square & 1) << 3;
        words[at / 16] |= nibble << (at % 16 * 4);
        at += 1;
    }
    packed[8..16].copy_from_slice(&words[0].to_le_bytes());
    packed[16..24].copy_from_slice(&words[1].to_le_bytes());
    let castles = position.castles();
    packed[24] = u8::from(position.turn() == Color::Black)
        | u8::from(castles.has(Color::White, CastlingSide::KingSide)) << 1
        | u8::from(castles.has(Color::White, CastlingSide::QueenSide)) << 2
        | u8::from(castles.has(Color::Black, CastlingSide::KingSide)) << 3
        | u8::from(castles.has(Color::Black, CastlingSide::QueenSide)) << 4;
    packed[25] = position.ep_square(EnPassantMode::Legal).map_or(NO_EN_PASSANT, u8::from);
    packed[26] = position.halfmoves().min(255) as u8;
    packed[27] = repetitions.min(2) as u8;
    packed[28..30].copy_from_slice(&(position.fullmoves().get().min(65535) as u16).to_le_bytes());
    packed
}

/// The squares of each piece, in the order White's P N B R Q K, Black's.
///
/// Nibbles that name no piece are left out: `unpack` is where bytes are judged.
#[inline]
pub fn piece_boards(packed: &Packed) -> [u64; 12] {
    let mut boards = [0u64; 12];
    let mut rest = u64::from_le_bytes(packed[..8].try_into().expect("8 bytes"));
    let words = [
        u64::from_le_bytes(packed[8..16].try_into().expect("8 bytes")),
        u64::from_le_bytes(packed[16..24].try_into().expect("8 bytes")),
    ];
    let mut at = 0;
    while rest != 0 && at < 32 {
        let square = rest.trailing_zeros();
        rest &= rest - 1;
        let nibble = (words[at / 16] >> (at % 16 * 4) & 15) as usize;
        at += 1;
        if nibble & 7 < 6 {
            boards[(nibble >> 3) * 6 + (nibble & 7)] |= 1 << square;
        }
    }
    boards
}

/// Read a packed position back; bytes that hold no legal position are refused.
pub fn unpack(packed: &Packed) -> Result<Chess> {
    let occupied = u64::from_le_bytes(packed[..8].try_into().expect("8 bytes"));
    let boards = piece_boards(packed);
    if occupied.count_ones() > 32 || boards.iter().fold(0, |all, b| all | b) != occupied {
        return Err(Error::Malformed("a packed position has a nibble that names no piece".into()));
    }
    let both = |role: usize| Bitboard(boards[role] | boards[role + 6]);
    let by_role = ByRole {
        pawn: both(0),
        knight: both(1),
        bishop: both(2),
        rook: both(3),
        queen: both(4),
        king: both(5),
    };
    let white = boards[..6].iter().fold(0, |all, b| all | b);
    let by_color = ByColor { black: Bitboard(occupied & !white), white: Bitboard(white) };
    let board = Board::try_from_bitboards(by_role, by_color)
        .map_err(|_| Error::Malformed("a packed position's pieces overlap".into()))?;
    let flags = packed[24];
    let mut rights = Bitboard::EMPTY;
    for (bit, square) in [(2, Square::H1), (4, Square::A1), (8, Square::H8), (16, Square::A8)] {
        if flags & bit != 0 {
            rights.toggle(square);
        }
    }
    let ep_square = match packed[25] {
        NO_EN_PASSANT => None,
        square if square < 64 => Some(Square::new(u32::from(square))),
        other => return Err(Error::Malformed(format!("a packed position's en passant square is {other}"))),
    };
    let setup = Setup {
        board,
        promoted: Bitboard::EMPTY,
        pockets: None,
        turn: if flags & 1 == 0 { Color::White } else { Color::Black },
        castling_rights: rights,
        ep_square,
        remaining_checks: None,
        halfmoves: u32::from(packed[26]),
        fullmoves: NonZeroU32::new(u32::from(u16::from_le_bytes([packed[28], packed[29]])))
            .unwrap_or(NonZeroU32::MIN),
    };
    Chess::from_setup(setup, CastlingMode::Standard)
        .or_else(PositionError::ignore_too_much_material)
        .or_else(PositionError::ignore_impossible_check)
        .map_err(|error| Error::Illegal(format!("packed {error}")))
}

/// Sixty-four bits that name the position: pieces, side, rights, legal en passant.
///
/// Clocks and history are left out, so this is the identity of repetition,
/// deduplication and exclusion alike. Stable for ever: label files rely on it.
#[inline]
pub fn key(packed: &Packed) -> u64 {
    let word = |at: usize| u64::from_le_bytes(packed[at..at + 8].try_into().expect("8 bytes"));
    let mut hash = 0x9E37_79B9_7F4A_7C15u64;
    for part in [word(0), word(8), word(16), u64::from(packed[24]) | u64::from(packed[25]) << 8] {
        hash = mix(hash ^ part);
    }
    hash
}

/// The finaliser of splitmix64: every input bit moves half the output bits.
#[inline]
pub fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{from_fen, to_fen};

    #[test]
    fn a_position_survives_packing() {
        for fen in [
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 7 300",
            "8/8/8/8/k2Pp2Q/8/8/3K4 b - - 0 1",
            "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3",
            "8/8/8/8/8/5k2/8/5K1R b - - 99 200",
        ] {
            assert_eq!(to_fen(&unpack(&pack(&from_fen(fen).unwrap(), 0)).unwrap()), fen);
        }
    }
}
