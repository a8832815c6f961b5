//! What a feature is called: "white rook on e5", "black pawn on the e-file, white king on g1".
//!
//! White is the side whose view it is.

use super::block::{Atom, Block, Mirror, Subject};

const ROLES: [&str; 6] = ["pawn", "knight", "bishop", "rook", "queen", "king"];
const COLORS: [&str; 2] = ["white", "black"];

/// Pieces are named in this order, whatever the order of the blocks.
const ORDER: [Subject; 13] = [
    Subject::Any,
    Subject::White,
    Subject::Black,
    Subject::NoKing,
    Subject::Second,
    Subject::Right,
    Subject::Up,
    Subject::UpRight,
    Subject::DownRight,
    Subject::Goal,
    Subject::Target,
    Subject::OtherKing,
    Subject::King,
];

pub fn name(atoms: &[(Atom, u32)]) -> String {
    let mut phrases = Vec::new();
    for subject in ORDER {
        let own: Vec<_> = atoms.iter().filter(|(atom, _)| atom.subject == subject).copied().collect();
        if !own.is_empty() {
            phrases.push(phrase(subject, &own));
        }
    }
    if atoms.iter().any(|(atom, _)| atom.mirror != Mirror::NONE) {
        phrases.push("in the mirror".into());
    }
    phrases.join(", ")
}

fn phrase(subject: Subject, atoms: &[(Atom, u32)]) -> String {
    let value = |block| atoms.iter().find(|(atom, _)| atom.block == block).map(|&(_, value)| value);
    let places = places(atoms, value(Block::File).zip(value(Block::Rank)));
    let verb = match subject {
        Subject::Goal => "can go to",
        Subject::Target => "attacks",
        _ => "",
    };
    if !verb.is_empty() {
        let place = places.join(" ");
        let square = place.strip_prefix("on ").filter(|name| name.len() == 2).map(str::to_string);
        return format!("{verb} {}", square.unwrap_or_else(|| format!("a square {place}")));
    }
    let role = match subject {
        Subject::King | Subject::OtherKing => "king",
        _ => value(Block::Role).map_or("piece", |role| ROLES[role as usize]),
    };
    let color = match subject {
        Subject::King | Subject::White => "white",
        Subject::OtherKing | Subject::Black => "black",
        _ => value(Block::Color).map_or("", |color| COLORS[color as usize]),
    };
    let before = match subject {
        Subject::Right => "next to the right a",
        Subject::Up => "next above a",
        Subject::UpRight => "next up the diagonal a",
        Subject::DownRight => "next down the diagonal a",
        _ if color.is_empty() => "any",
        _ => "",
    };
    let words = [before, color, role].into_iter().map(str::to_string).chain(places);
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn places(atoms: &[(Atom, u32)], square: Option<(u32, u32)>) -> Vec<String> {
    let mut places = Vec::new();
    if let Some((file, rank)) = square {
        places.push(format!("on {}", square_name(rank * 8 + file)));
    }
    for &(atom, value) in atoms {
        let given = square.is_some() && matches!(atom.block, Block::File | Block::Rank);
        if let Some(place) = place(atom.block, value).filter(|_| !given) {
            places.push(place);
        }
    }
    places
}

/// Where the block puts its subject; none for those that say what it is.
fn place(block: Block, value: u32) -> Option<String> {
    let place = match block {
        Block::Role | Block::Color => return None,
        Block::File => format!("on the {}-file", file(value)),
        Block::Rank => format!("on rank {}", value + 1),
        // From the lower edge or the left one, to the upper or the right one.
        Block::Diag1 => {
            diagonal(value.saturating_sub(7) + 7u32.saturating_sub(value) * 8, 9, 7 - value.abs_diff(7))
        }
        Block::Diag2 => {
            let (rank, file) = (value.min(7), value - value.min(7));
            let length = 7 - value.abs_diff(7);
            format!(
                "on the diagonal {}-{}",
                square_name(rank * 8 + file),
                square_name(rank * 8 + file - length * 7)
            )
        }
        Block::Square => format!("on {}", square_name(value)),
        Block::FoldFile => format!("on the {}- or {}-file", file(value), file(7 - value)),
        Block::FoldRank => format!("on rank {} or {}", value + 1, 8 - value),
        Block::RelativeFile => apart(value, "file", "left of", "right of"),
        Block::RelativeRank => apart(value, "rank", "below", "above"),
        Block::Bucket4 => format!("in region {} of 4", value + 1),
        Block::Bucket8 => format!("in region {} of 8", value + 1),
        Block::Bucket16 => format!("in region {} of 16", value + 1),
        Block::Bucket32 => {
            format!("on rank {} of the {}- or {}-file", value / 4 + 1, file(value % 4), file(7 - value % 4))
        }
        Block::Moves => format!("with {} to go to", counted(value)),
        Block::Attacks => format!("with {} attacked", counted(value)),
    };
    Some(place)
}

fn diagonal(start: u32, step: u32, length: u32) -> String {
    format!("on the diagonal {}-{}", square_name(start), square_name(start + length * step))
}

fn apart(value: u32, what: &str, below: &str, above: &str) -> String {
    let distance = value.abs_diff(7);
    let plural = if distance == 1 { "" } else { "s" };
    match value {
        7 => format!("on the king's {what}"),
        0..7 => format!("{distance} {what}{plural} {below} the king"),
        _ => format!("{distance} {what}{plural} {above} the king"),
    }
}

fn counted(value: u32) -> String {
    match value {
        1 => "1 square".into(),
        31 => "31 squares or more".into(),
        _ => format!("{value} squares"),
    }
}

fn file(value: u32) -> char {
    char::from(b'a' + value as u8)
}

fn square_name(square: u32) -> String {
    format!("{}{}", file(square % 8), square / 8 + 1)
}
