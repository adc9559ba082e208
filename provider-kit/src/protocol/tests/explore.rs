//! All runs of a scenario.

use std::rc::Rc;

use super::choices::Choices;
use super::place::Place;
use super::script::Scenario;
use super::verdict::Oracle;
use super::world::World;

/// Makes all runs of a scenario, and returns their number.
pub(super) fn explore(scenario: &Scenario) -> u64 {
    let places = [0, 1].map(|side| Rc::new(Place::new(side, (scenario.slot, scenario.slots))));
    let choices = Choices::default();
    let (mut runs, mut oracle) = (0, None);
    loop {
        let mut world = World::new(scenario, &places, &choices);
        let oracle = oracle.get_or_insert_with(|| Oracle::new(&world));
        let is_whole = loop {
            match world.step() {
                Some(true) => {}
                Some(false) => break true,
                None => break false,
            }
        };
        if is_whole {
            oracle.check_rest(&world);
            world.finish();
            oracle.check_end(&mut world);
            runs += 1;
        }
        drop(world);
        if !choices.next_run() {
            return runs;
        }
    }
}

/// Makes all runs of some scenarios. There must be at least `min` of them.
pub(super) fn explore_all(scenarios: &[Scenario], min: u64) {
    let mut total = 0;
    for scenario in scenarios {
        let runs = explore(scenario);
        println!("{}: {runs} interleavings", scenario.name);
        total += runs;
    }
    println!("together: {total} interleavings");
    assert!(total >= min, "only {total} interleavings");
}
