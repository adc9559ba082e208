//! Tables of state machines, which the compiler proves complete.

/// The table of a state machine, from rules with the fields `(events, states, step)`: the step of each state (row)
/// and event (column). The build fails if a step is missing or given twice.
///
/// ```
/// # use dat_sync::transition_table;
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// enum State {
///     Off,
///     On,
/// }
/// #[derive(Clone, Copy)]
/// enum Event {
///     Press,
/// }
/// struct Rule(&'static [Event], &'static [State], State);
///
/// const RULES: &[Rule] = &[
///     Rule(&[Event::Press], &[State::Off], State::On),
///     Rule(&[Event::Press], &[State::On], State::Off),
/// ];
/// const TABLE: [[State; 1]; 2] = transition_table!(RULES, Rule, 2, 1);
/// assert_eq!(TABLE[State::Off as usize][Event::Press as usize], State::On);
/// ```
#[macro_export]
macro_rules! transition_table {
    ($rules:expr, $rule:path, $states:expr, $events:expr) => {{
        let mut table = [[None; $events]; $states];
        let mut rule = 0;
        while rule < $rules.len() {
            let $rule(events, states, step) = &$rules[rule];
            let mut state = 0;
            while state < states.len() {
                let mut event = 0;
                while event < events.len() {
                    let cell = &mut table[states[state] as usize][events[event] as usize];
                    assert!(cell.is_none(), "two rules for one state and event");
                    *cell = Some(*step);
                    event += 1;
                }
                state += 1;
            }
            rule += 1;
        }
        let $rule(_, _, any) = &$rules[0];
        let mut full = [[*any; $events]; $states];
        let mut state = 0;
        while state < $states {
            let mut event = 0;
            while event < $events {
                full[state][event] = match table[state][event] {
                    Some(step) => step,
                    None => panic!("no rule for a state and event"),
                };
                event += 1;
            }
            state += 1;
        }
        full
    }};
}
