"use strict";
// A click on a column's head sorts by it; a second click turns the order around. Cells
// without a value come last.
for (const table of document.querySelectorAll("table.sorts")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.firstElementChild.addEventListener("click", () => {
    const descending = head.getAttribute("aria-sort") === "ascending";
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const numeric = head.classList.contains("n");
    const key = row => {
      const cell = row.cells[column];
      return numeric ? (cell.dataset.v === undefined ? null : Number(cell.dataset.v)) : cell.textContent;
    };
    const order = (a, b) => {
      const [x, y] = [key(a), key(b)];
      if (x === null || y === null) return (x === null) - (y === null);
      const before = numeric ? x - y : x.localeCompare(y, "en", { numeric: true });
      return descending ? -before : before;
    };
    table.tBodies[0].append(...[...table.tBodies[0].rows].sort(order));
  }));
}
