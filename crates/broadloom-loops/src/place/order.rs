//! The order of statements: few values are alive at once, so that they stay in registers, of several vectors if possible.

use super::{Item, Placement};
use crate::kernel::Def;
use crate::thresholds::MIN_ALIVE_ORDERED;
use std::collections::{BTreeSet, HashMap};

impl Placement<'_, '_> {
    /// Returns items, each after its sources, in an order in which fewer values are alive at once, if there is one and many are.
    /// Of the items whose sources are there, the next is the one after which the fewest values are alive; of equal ones, the one
    /// that the program computes first. Stores stay behind everything else, so that no element is overwritten before it is
    /// read.
    pub(super) fn with_fewer_alive(&self, items: Vec<Item>, sources: &HashMap<Item, Vec<Item>>) -> Vec<Item> {
        let is_plain = |item: &Item| !matches!(item, Item::Loop(_));
        if items.len() <= MIN_ALIVE_ORDERED || !items.iter().all(is_plain) {
            return items;
        }
        let places: HashMap<Item, usize> = items.iter().enumerate().map(|(at, item)| (*item, at)).collect();
        let lives = |item: &Item| match item {
            // A constant needs no register in the loop.
            Item::Value(value) => {
                !matches!(self.nest.values[value.index()].def, Def::Constant(_) | Def::Param(_))
            }
            Item::Loop(_) | Item::Store(_) => false,
        };
        let reads: Vec<Vec<usize>> = items
            .iter()
            .map(|item| sources[item].iter().filter_map(|source| places.get(source).copied()).collect())
            .collect();
        let mut users: Vec<Vec<usize>> = vec![Vec::new(); items.len()];
        for (user, read) in reads.iter().enumerate() {
            read.iter().for_each(|source| users[*source].push(user));
        }
        let lives: Vec<bool> = items.iter().map(lives).collect();
        let given = most_alive(&(0..items.len()).collect::<Vec<_>>(), &reads, &users, &lives);
        if given <= MIN_ALIVE_ORDERED {
            return items;
        }
        let mut waits: Vec<usize> = reads.iter().map(Vec::len).collect();
        let mut unread: Vec<usize> = users.iter().map(Vec::len).collect();
        // How many values more are alive after an item, which begins one and ends those that nothing else reads.
        let growth = |at: usize, unread: &[usize]| {
            let ends = reads[at].iter().filter(|source| lives[**source] && unread[**source] == 1).count();
            i64::from(lives[at] && !users[at].is_empty()) - ends as i64
        };
        let written = |at: usize| match items[at] {
            Item::Value(value) => Some(self.nest.nodes[value.index()]),
            Item::Loop(_) | Item::Store(_) => None,
        };
        let key = |growth: i64, at: usize| (growth, written(at), at);
        let mut ready = BTreeSet::new();
        let mut growths: Vec<i64> = vec![0; items.len()];
        let is_store = |at: usize| matches!(items[at], Item::Store(_));
        for at in 0..items.len() {
            growths[at] = growth(at, &unread);
            if waits[at] == 0 && !is_store(at) {
                ready.insert(key(growths[at], at));
            }
        }
        let mut order = Vec::with_capacity(items.len());
        let mut is_done = vec![false; items.len()];
        while let Some((_, _, next)) = ready.pop_first() {
            order.push(next);
            is_done[next] = true;
            for source in &reads[next] {
                unread[*source] -= 1;
                if unread[*source] != 1 {
                    continue;
                }
                // The last reader ends its life.
                for user in users[*source].iter().filter(|user| !is_done[**user]) {
                    let is_ready = ready.remove(&key(growths[*user], *user));
                    growths[*user] = growth(*user, &unread);
                    if is_ready {
                        ready.insert(key(growths[*user], *user));
                    }
                }
            }
            for user in &users[next] {
                waits[*user] -= 1;
                if waits[*user] == 0 && !is_store(*user) {
                    growths[*user] = growth(*user, &unread);
                    ready.insert(key(growths[*user], *user));
                }
            }
        }
        order.extend((0..items.len()).filter(|at| is_store(*at)));
        if order.len() < items.len() || most_alive(&order, &reads, &users, &lives) >= given {
            return items;
        }
        order.into_iter().map(|at| items[at]).collect()
    }
}

/// Returns the most values that are alive at once in an order.
fn most_alive(order: &[usize], reads: &[Vec<usize>], users: &[Vec<usize>], lives: &[bool]) -> usize {
    let mut unread: Vec<usize> = users.iter().map(Vec::len).collect();
    let (mut alive, mut most) = (0usize, 0);
    for at in order {
        for source in &reads[*at] {
            unread[*source] -= 1;
            alive -= usize::from(lives[*source] && unread[*source] == 0);
        }
        alive += usize::from(lives[*at] && !users[*at].is_empty());
        most = most.max(alive);
    }
    most
}
