//! FEN both ways, moves as UCI and SAN text, and perft: thin words over shakmaty.

use shakmaty::fen::Fen;
use shakmaty::san::{San, SanError, SanPlus};
use shakmaty::uci::UciMove;
use shakmaty::{CastlingMode, Chess, EnPassantMode, Move, Position, PositionError};

use crate::error::{Error, Result};
use crate::move_code::MoveCode;

/// Read a FEN of four to six fields.
///
/// Positions that no game can reach but every program plays (nine queens, an
/// odd double check) are accepted as long as they hold at most 32 pieces.
pub fn from_fen(fen: &str) -> Result<Chess> {
    let parsed = Fen::from_ascii(fen.trim().as_bytes())
        .map_err(|error| Error::Malformed(format!("malformed FEN {fen:?}: {error}")))?;
    let position: Chess = parsed
        .into_position(CastlingMode::Standard)
        .or_else(PositionError::ignore_too_much_material)
        .or_else(PositionError::ignore_impossible_check)
        .map_err(|error| Error::Illegal(format!("{error} in FEN {fen:?}")))?;
    let men = position.board().occupied().count();
    if men > 32 {
        return Err(Error::Illegal(format!("illegal position: {men} pieces in FEN {fen:?}")));
    }
    Ok(position)
}

/// Write a FEN; the en passant square stands in it only if such a capture is legal.
pub fn to_fen(position: &Chess) -> String {
    Fen::from_position(position, EnPassantMode::Legal).to_string()
}

/// A legal move from its UCI text, castling as `e1g1`.
pub fn parse_uci(position: &Chess, text: &str) -> Result<Move> {
    MoveCode::parse(text)?.to_move(position).ok_or_else(|| illegal(position, text))
}

/// A legal move from SAN or UCI text. Some text is both: `b2b4` reads as SAN too.
pub fn parse_move(position: &Chess, text: &str) -> Result<Move> {
    let text = text.trim();
    let san = SanPlus::from_ascii(text.as_bytes()).ok();
    if let Some(Ok(found)) = san.map(|san| san.san.to_move(position)) {
        return Ok(found);
    }
    if let Some(found) = MoveCode::parse(text).ok().and_then(|code| code.to_move(position)) {
        return Ok(found);
    }
    match san.map(|san| (san.san, san.san.to_move(position))) {
        Some((san, Err(SanError::AmbiguousSan))) => Err(Error::Illegal(format!(
            "{text} is ambiguous in {}: {}",
            to_fen(position),
            candidates(position, san)
        ))),
        Some(_) => Err(illegal(position, text)),
        None if MoveCode::parse(text).is_ok() => Err(illegal(position, text)),
        None => Err(Error::Malformed(format!("{text:?} is not a move like Nf3, exd5, O-O or e2e4"))),
    }
}

fn illegal(position: &Chess, text: &str) -> Error {
    Error::Illegal(format!("illegal move {text} in {}", to_fen(position)))
}

/// "Nbd2 or Nfd2": what an ambiguous SAN could have meant.
fn candidates(position: &Chess, san: San) -> String {
    let moves = position.legal_moves();
    let names: Vec<String> = moves
        .iter()
        .filter(|&&m| san.matches(m))
        .map(|&m| San::disambiguate(m, &moves).to_string())
        .collect();
    names.join(" or ")
}

pub fn uci(m: Move) -> String {
    UciMove::from_standard(m).to_string()
}

pub fn san(position: &Chess, m: Move) -> String {
    SanPlus::from_move(position.clone(), m).to_string()
}

/// The legal moves in the order of their UCI strings, which is the order of move labels.
pub fn legal_moves_in_uci_order(position: &Chess) -> Vec<Move> {
    let mut moves: Vec<Move> = position.legal_moves().into_iter().collect();
    moves.sort_by_key(|&m| uci_sort_key(m));
    moves
}

/// A number that sorts as the UCI string does: files before ranks, promotions b n q r.
fn uci_sort_key(m: Move) -> u32 {
    let uci = UciMove::from_standard(m);
    let square = |s: shakmaty::Square| (s.file() as u32) * 8 + s.rank() as u32;
    let (from, to) = (uci.from().expect("a move starts somewhere"), uci.to().expect("a move ends somewhere"));
    let promotion = uci.promotion().map_or(0, |role| role.char() as u32);
    (square(from) << 16) | (square(to) << 8) | promotion
}

/// Count the leaves of the legal-move tree, `depth` plies deep.
pub fn perft(position: &Chess, depth: u32) -> u64 {
    shakmaty::perft(position, depth)
}
