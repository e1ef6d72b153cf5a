//! Conway's Game of Life: a cell lives on with two or three neighbours, and comes to life with three.

use crate::common::picture::Picture;
use crate::common::report::{self, grouped, line};
use crate::common::{Error, letters, uniform_numbers};
use broadloom::prelude::*;
use std::path::Path;
use std::time::Duration;

/// The grid of which the speed is measured, and for how many generations.
const SIDE: usize = 2048;
const GENERATIONS: usize = 64;
/// Generations of it that the plain loop computes.
const CHECKED: usize = 8;

/// Gosper's glider gun.
const GUN: [&str; 9] = [
    "........................#...........",
    "......................#.#...........",
    "............##......##............##",
    "...........#...#....##............##",
    "##........#.....#...##..............",
    "##........#...#.##....#.#...........",
    "..........#.....#.......#...........",
    "...........#...#....................",
    "............##......................",
];
/// The grid it is drawn in, and when.
const COLUMNS: usize = 84;
const ROWS: usize = 56;
const SHOWN: [usize; 4] = [0, 55, 110, 165];

/// Cells in rows, 1 where one lives.
struct Grid {
    width: usize,
    height: usize,
    cells: Vec<u8>,
}

impl Grid {
    fn new(width: usize, height: usize) -> Grid {
        Grid { width, height, cells: vec![0; width * height] }
    }

    fn view(&self) -> Result<ArrayView<'_>, Error> {
        Ok(ArrayView::new(&self.cells, &[self.height, self.width])?)
    }

    fn view_mut(&mut self) -> Result<ArrayViewMut<'_>, Error> {
        Ok(ArrayViewMut::new(&mut self.cells, &[self.height, self.width])?)
    }

    fn population(&self) -> usize {
        self.cells.iter().map(|cell| usize::from(*cell)).sum()
    }
}

/// The sum of every cell and its two neighbours along an axis, the last of which is the first one's neighbour.
fn three(cells: Tensor, axis: usize) -> Tensor {
    let next = concat([cells.slice_axis(axis, 1.., 1), cells.slice_axis(axis, ..1, 1)], axis);
    let previous = concat([cells.slice_axis(axis, -1.., 1), cells.slice_axis(axis, ..-1, 1)], axis);
    previous + cells + next
}

/// One generation.
fn compile() -> Result<Executable, Error> {
    let g = Graph::new();
    let [h, w] = g.symbols(["h", "w"]);
    let cells = g.input::<u8>("cells", shape![h, w]);
    let square = three(three(cells, 0), 1); // of nine cells, its own among them
    let lives = square.eq(3) | (square.eq(4) & cells.eq(1));
    Ok(lives.cast::<u8>().compile()?)
}

pub fn run(directory: &Path) -> Result<(), Error> {
    println!("Game of Life, {} cells on a torus", grouped(SIDE * SIDE));
    line("each generation", "square.eq(3) | (square.eq(4) & cells.eq(1)), where square sums 3 x 3 cells");
    let kernel = compile()?;
    report::compiled(&kernel);

    let mut grid = Grid::new(SIDE, SIDE);
    for (cell, number) in grid.cells.iter_mut().zip(uniform_numbers(0x11fe)) {
        *cell = u8::from(number < 0.3);
    }
    let mut by_loop = Grid { cells: grid.cells.clone(), ..grid };
    let mut spare = Grid::new(SIDE, SIDE);
    let (mut time, mut plain_time, mut differ) = (Duration::ZERO, Duration::ZERO, 0);
    for generation in 0..GENERATIONS {
        let (one, result) = report::once(|| step(&kernel, &mut grid, &mut spare));
        result?;
        time += one;
        if generation < CHECKED {
            let (one, next) = report::once(|| plain(&by_loop));
            by_loop = next;
            plain_time += one;
            differ += by_loop.cells.iter().zip(&grid.cells).filter(|(a, b)| a != b).count();
        }
    }
    report::speed(&report::broadloom(), time, GENERATIONS * SIDE * SIDE, "cells");
    report::speed("plain Rust", plain_time, CHECKED * SIDE * SIDE, "cells");
    line("check", format!("{differ} cells of {CHECKED} generations differ from the plain loop's"));
    line("", format!("{} live after {GENERATIONS}", grouped(grid.population())));

    report::wrote(&glider_gun(&kernel)?, directory, "life.png")
}

/// One generation, with a second grid to write to.
fn step(kernel: &Executable, grid: &mut Grid, spare: &mut Grid) -> Result<(), Error> {
    kernel.run_into(grid.view()?, spare.view_mut()?)?;
    std::mem::swap(grid, spare);
    Ok(())
}

/// One generation by loops in plain Rust.
fn plain(grid: &Grid) -> Grid {
    let (width, height) = (grid.width, grid.height);
    let mut next = Grid::new(width, height);
    for y in 0..height {
        for x in 0..width {
            let mut square = 0;
            for dy in [height - 1, 0, 1] {
                for dx in [width - 1, 0, 1] {
                    square += grid.cells[(y + dy) % height * width + (x + dx) % width];
                }
            }
            let place = y * width + x;
            next.cells[place] = u8::from(square == 3 || square == 4 && grid.cells[place] == 1);
        }
    }
    next
}

/// The gun at some generations, after each of which its population is that of the plain loop.
fn glider_gun(kernel: &Executable) -> Result<Picture, Error> {
    const CELL: usize = 9;
    const GAP: usize = 14;
    const CAPTION: usize = 34;
    let mut grid = Grid::new(COLUMNS, ROWS);
    for (y, row) in GUN.iter().enumerate() {
        for (x, letter) in row.chars().enumerate() {
            grid.cells[(y + 4) * COLUMNS + x + 4] = u8::from(letter == '#');
        }
    }
    let mut by_loop = Grid { cells: grid.cells.clone(), ..grid };
    let mut spare = Grid::new(COLUMNS, ROWS);

    let (wide, high) = (COLUMNS * CELL, ROWS * CELL);
    let mut picture = Picture::new(2 * (wide + GAP) + GAP, 2 * (high + CAPTION) + GAP, [255; 3]);
    let mut populations = Vec::new();
    for generation in 0..=SHOWN[SHOWN.len() - 1] {
        if generation > 0 {
            step(kernel, &mut grid, &mut spare)?;
            by_loop = plain(&by_loop);
        }
        if grid.population() != by_loop.population() {
            return Err(format!("generation {generation} is not that of the plain loop").into());
        }
        let Some(frame) = SHOWN.iter().position(|shown| *shown == generation) else { continue };
        populations.push(grid.population().to_string());
        let (left, top) = (GAP + frame % 2 * (wide + GAP), CAPTION + frame / 2 * (high + CAPTION));
        let caption = format!("generation {generation}");
        let above = top - (CAPTION + 2 * letters::HEIGHT) / 2;
        picture.write_text((left, above), 2, [40; 3], &caption);
        picture.fill((left, top), (wide, high), [24, 28, 40]);
        for (place, _) in grid.cells.iter().enumerate().filter(|(_, cell)| **cell == 1) {
            let place = (left + place % COLUMNS * CELL, top + place / COLUMNS * CELL);
            picture.fill(place, (CELL - 1, CELL - 1), [250, 196, 74]);
        }
    }
    let shown = SHOWN.map(|generation| generation.to_string()).join(", ");
    line(
        "glider gun",
        format!("populations {} after {shown} generations, as by the plain loop", populations.join(", ")),
    );
    Ok(picture)
}
