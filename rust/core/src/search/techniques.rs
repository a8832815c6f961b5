//! One switch for every technique of the search, so that each can be tested by turning it off.

macro_rules! techniques {
    ($($(#[$doc:meta])+ $field:ident $name:literal,)+) => {
        /// All are on by default.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct Techniques {
            $($(#[$doc])+ pub $field: bool,)+
        }

        impl Default for Techniques {
            fn default() -> Techniques {
                Techniques { $($field: true,)+ }
            }
        }

        impl Techniques {
            /// The names of the switches, as UCI options say them after "Use".
            pub const NAMES: &[&str] = &[$($name,)+];

            /// The switch with this name, in any case of letters.
            pub fn switch(&mut self, name: &str) -> Option<&mut bool> {
                $(if name.eq_ignore_ascii_case($name) { return Some(&mut self.$field); })+
                None
            }
        }
    };
}

techniques! {
    /// Begin an iteration with a narrow window around the last score.
    aspiration "Aspiration",
    /// Let a stored score of enough depth end a node.
    table_cutoffs "TableCutoffs",
    /// Never look for a mate longer than one already found.
    mate_distance "MateDistance",
    /// Search less where the table knows no move.
    internal_reduction "InternalReduction",
    /// Ask quiescence alone where the evaluation is hopelessly low.
    razoring "Razoring",
    /// Believe an evaluation far above the window.
    reverse_futility "ReverseFutility",
    /// Let the opponent move twice; if that is not enough for him, stop here.
    null_move "NullMove",
    /// A capture that wins far more than the window in a shallow search ends the node.
    probcut "ProbCut",
    /// Try only so many quiet moves at low depth.
    late_move_pruning "LateMovePruning",
    /// Skip quiet moves where the evaluation lies far below the window.
    futility "Futility",
    /// Skip quiet moves with a bad history at low depth.
    history_pruning "HistoryPruning",
    /// Skip moves that lose material by exchange at low depth.
    exchange_pruning "ExchangePruning",
    /// Search a move deeper if no other move comes near it.
    singular_extensions "SingularExtensions",
    /// Search late moves less deep first.
    late_move_reductions "LateMoveReductions",
    /// Let histories change how much a late move is reduced.
    history_reductions "HistoryReductions",
    /// Try quiet moves first that refuted a sibling.
    killers "Killers",
    /// Try the quiet move first that refuted the last move elsewhere.
    replies "Replies",
    /// Order quiet moves by how often they were good for their side.
    butterfly_history "ButterflyHistory",
    /// Keep that order apart for pieces that leave or meet an attack.
    threat_history "ThreatHistory",
    /// Order quiet moves by how good they were after the moves before.
    continuation_history "ContinuationHistory",
    /// Order captures by how often they were good, beside what they take.
    capture_history "CaptureHistory",
    /// Correct the evaluation by what search found in positions of the same skeleton.
    correction_history "CorrectionHistory",
    /// Leave captures out of quiescence that cannot come near the window.
    delta_pruning "DeltaPruning",
    /// Leave captures out of quiescence that lose material by exchange.
    quiescence_exchange "QuiescenceExchange",
    /// Do more where the evaluation has risen since two plies ago, prune more where it has not.
    improving "Improving",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_switch_turns_off_one_technique() {
        for name in Techniques::NAMES {
            let mut techniques = Techniques::default();
            *techniques.switch(&name.to_lowercase()).unwrap() = false;
            assert_ne!(techniques, Techniques::default(), "{name}");
        }
        assert!(Techniques::default().switch("Telepathy").is_none());
    }
}
