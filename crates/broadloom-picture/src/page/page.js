"use strict";
// Marks the lines that belong together. A line of the program has expressions (data-e), a line of machine code has the
// statement that it is a part of (data-s), and a line of the loops has both.
(() => {
  const columns = ["program", "loops", "code"].map((id) => document.getElementById(id));
  const [, loops, code] = columns;
  const search = document.getElementById("search");
  const count = document.getElementById("count");
  const linked = [...document.querySelectorAll("[data-e], [data-s]")];
  const lines = columns.map((column) => [...column.querySelectorAll(".line")]);

  const words = (text) => (text ? text.split(" ") : []);
  const grouped = (elements, keys) => {
    const groups = new Map();
    for (const element of elements) {
      for (const key of keys(element)) {
        if (!groups.has(key)) groups.set(key, []);
        groups.get(key).push(element);
      }
    }
    return groups;
  };
  const ofLoops = linked.filter((element) => loops.contains(element));
  const ofCode = linked.filter((element) => code.contains(element));
  const others = linked.filter((element) => !loops.contains(element) && !code.contains(element));
  const isOther = new Set(others);
  // A part of the source lies in others: it is marked with each of them.
  const around = (element) => words(element.dataset.in || element.dataset.e);
  const exprs = (element) => words(element.dataset.e);
  const statement = (element) => words(element.dataset.s);
  const programOf = grouped(others, around);
  const loopsOf = grouped(ofLoops, exprs);
  const loopsAt = grouped(ofLoops, statement);
  const codeAt = grouped(ofCode, statement);
  const all = (groups, keys) => keys.flatMap((key) => groups.get(key) || []);

  // The elements that belong to one of them.
  function related(element) {
    if (isOther.has(element)) {
      const inLoops = all(loopsOf, exprs(element));
      return [element, ...all(programOf, exprs(element)), ...inLoops, ...all(codeAt, inLoops.flatMap(statement))];
    }
    const inLoops = all(loopsAt, statement(element));
    const of = loops.contains(element) ? exprs(element) : inLoops.flatMap(exprs);
    return [element, ...inLoops, ...all(codeAt, statement(element)), ...all(programOf, of)];
  }

  let marked = new Set();
  let at = null;
  let pinned = false;

  function isVisible(element, column) {
    const [inner, outer] = [element.getBoundingClientRect(), column.getBoundingClientRect()];
    return inner.top >= outer.top + 36 && inner.bottom <= outer.bottom;
  }

  function show(element, column) {
    const [inner, outer] = [element.getBoundingClientRect(), column.getBoundingClientRect()];
    column.scrollTop += inner.top - outer.top - column.clientHeight / 3;
  }

  function mark(element) {
    marked.forEach((other) => other.classList.remove("marked", "at"));
    if (at) at.removeAttribute("aria-current");
    marked = new Set(element ? related(element) : []);
    at = element;
    marked.forEach((other) => other.classList.add("marked"));
    if (!element) return;
    element.classList.add("at");
    element.setAttribute("aria-current", "true");
    for (const column of columns) {
      if (column.contains(element)) continue;
      const here = [...marked].filter((other) => column.contains(other));
      if (here.length && !here.some((other) => isVisible(other, column))) show(here[0], column);
    }
  }

  function pin(element) {
    pinned = element !== null;
    mark(element);
    const column = element && columns.find((each) => each.contains(element));
    if (column && !isVisible(element, column)) show(element, column);
  }

  const target = (event) => event.target.closest("[data-e], [data-s]");
  document.addEventListener("mouseover", (event) => {
    if (!pinned && target(event)) mark(target(event));
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("form")) return;
    const element = target(event);
    pin(element === at && pinned ? null : element);
  });

  // Search.
  let found = [];
  function find() {
    const text = search.value.trim().toLowerCase();
    found.forEach((line) => line.classList.remove("found"));
    found = text ? lines.flat().filter((line) => line.textContent.toLowerCase().includes(text)) : [];
    found.forEach((line) => line.classList.add("found"));
    count.textContent = text ? `${found.length} ${found.length === 1 ? "line" : "lines"}` : "";
  }
  function next(step) {
    if (!found.length) return;
    const position = found.indexOf(at);
    const first = step > 0 ? 0 : found.length - 1;
    pin(found[position < 0 ? first : (position + step + found.length) % found.length]);
  }
  search.addEventListener("input", find);
  search.form.addEventListener("submit", (event) => event.preventDefault());

  // Keys.
  function along(step) {
    const here = at ? at.closest(".line") : null;
    const column = Math.max(lines.findIndex((each) => each.includes(here)), 0);
    const all = lines[column].filter((line) => line.dataset.e || line.dataset.s || line.querySelector("[data-e]"));
    const position = all.indexOf(here);
    const line = all[position < 0 ? 0 : Math.min(Math.max(position + step, 0), all.length - 1)];
    if (line) pin(line.dataset.e || line.dataset.s ? line : line.querySelector("[data-e]"));
  }
  function across(step) {
    const here = columns.findIndex((column) => at && column.contains(at));
    for (let column = here + step; column >= 0 && column < columns.length; column += step) {
      const line = [...marked].find((other) => columns[column].contains(other));
      if (line) return pin(line);
    }
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isSearching = document.activeElement === search;
    const keys = {
      Escape: () => { search.value = ""; find(); search.blur(); pin(null); },
      Enter: isSearching && (() => next(event.shiftKey ? -1 : 1)),
      "/": !isSearching && (() => search.focus()),
      ArrowDown: !isSearching && (() => along(1)),
      ArrowUp: !isSearching && (() => along(-1)),
      ArrowRight: !isSearching && (() => across(1)),
      ArrowLeft: !isSearching && (() => across(-1)),
    };
    if (keys[event.key]) {
      event.preventDefault();
      keys[event.key]();
    }
  });
})();
