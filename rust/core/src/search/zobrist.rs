//! The random numbers from which position keys are made, fixed when the crate is compiled.

use shakmaty::Square;

use super::piece::Piece;

struct Numbers {
    pieces: [[u64; 64]; 16],
    castling: [u64; 16],
    en_passant: [u64; 8],
    turn: u64,
}

const fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

const fn numbers() -> Numbers {
    let mut state = 0x0074_6162_6979_6100; // "tabiya"
    let mut made = Numbers { pieces: [[0; 64]; 16], castling: [0; 16], en_passant: [0; 8], turn: 0 };
    let mut piece = 0;
    while piece < 12 {
        let mut square = 0;
        while square < 64 {
            made.pieces[piece][square] = draw(&mut state);
            square += 1;
        }
        piece += 1;
    }
    let mut rights = 1; // no rights have no number, so a bare board needs none
    while rights < 16 {
        made.castling[rights] = draw(&mut state);
        rights += 1;
    }
    let mut file = 0;
    while file < 8 {
        made.en_passant[file] = draw(&mut state);
        file += 1;
    }
    made.turn = draw(&mut state);
    made
}

static NUMBERS: Numbers = numbers();

#[inline]
pub fn piece(piece: Piece, square: Square) -> u64 {
    NUMBERS.pieces[piece.index()][square.to_usize()]
}

#[inline]
pub fn castling(rights: u8) -> u64 {
    NUMBERS.castling[usize::from(rights & 15)]
}

#[inline]
pub fn en_passant(square: Square) -> u64 {
    NUMBERS.en_passant[square.to_usize() & 7]
}

#[inline]
pub fn turn() -> u64 {
    NUMBERS.turn
}
