//! Strongly connected components.

use std::collections::BTreeSet;

/// Edges between files, with the item that causes the edge.
pub(crate) type Uses = BTreeSet<(usize, usize, String)>;

/// The cycles of a graph of `nodes` nodes: its strongly connected components of at least two nodes,
/// the largest first.
pub(crate) fn cycles(nodes: usize, uses: &Uses) -> Vec<Vec<usize>> {
    let mut forward = vec![BTreeSet::new(); nodes];
    let mut backward = vec![BTreeSet::new(); nodes];
    for (from, to, _) in uses {
        forward[*from].insert(*to);
        backward[*to].insert(*from);
    }
    let mut seen = vec![false; nodes];
    let mut order = Vec::with_capacity(nodes);
    for node in 0..nodes {
        visit(node, &forward, &mut seen, &mut order);
    }
    let mut seen = vec![false; nodes];
    let mut found = Vec::new();
    for node in order.into_iter().rev() {
        let mut component = Vec::new();
        visit(node, &backward, &mut seen, &mut component);
        if component.len() > 1 {
            component.sort_unstable();
            found.push(component);
        }
    }
    found.sort_by_key(|component| std::cmp::Reverse(component.len()));
    found
}

/// Appends `node` and all nodes that can be reached from it, each after its successors.
fn visit(node: usize, edges: &[BTreeSet<usize>], seen: &mut [bool], order: &mut Vec<usize>) {
    if std::mem::replace(&mut seen[node], true) {
        return;
    }
    for next in &edges[node] {
        visit(*next, edges, seen, order);
    }
    order.push(node);
}
