//! The roles of the two sides of a connection by number.

use std::cmp::Ordering;

/// The role of a side. Both sides decide from the same two names, so they never do the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It connects to the other side.
    Connects,
    /// It waits for the other side.
    Waits,
    /// Both sides are the same queue pair.
    Itself,
}

/// The number of a queue pair, and the GID that its peer knows.
pub(super) type Name = (u32, [u8; 16]);

impl Role {
    /// The role of the first of two queue pairs.
    pub(super) fn of(own: &Name, peer: &Name) -> Self {
        match own.cmp(peer) {
            Ordering::Greater => Self::Connects,
            Ordering::Less => Self::Waits,
            Ordering::Equal => Self::Itself,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_two_connects_and_the_other_waits() {
        let names = [(1, [0; 16]), (1, [9; 16]), (2, [0; 16])];
        for own in names {
            for peer in names {
                let expected = match Role::of(&own, &peer) {
                    Role::Connects => Role::Waits,
                    Role::Waits => Role::Connects,
                    Role::Itself => Role::Itself,
                };
                assert_eq!(Role::of(&peer, &own), expected);
                assert_eq!(Role::of(&own, &peer) == Role::Itself, own == peer);
            }
        }
    }
}
