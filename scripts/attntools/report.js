"use strict";
// Sorting and filtering; the page reads the same without them.
for (const table of document.querySelectorAll("table.cells")) {
  const body = table.tBodies[0];
  const rows = () => Array.from(body.rows);
  const key = (row, i) => {
    const cell = row.cells[i];
    return "value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent;
  };
  Array.from(table.tHead.rows[0].cells).forEach((head, i) => {
    const button = document.createElement("button");
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const order = (a, b) => {
        const x = key(a, i), y = key(b, i);
        // A cell without a value is last whichever way the others go.
        if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
        const less = typeof x === "number" ? x - y : x.localeCompare(y);
        return down ? -less : less;
      };
      body.append(...rows().sort(order));
    });
  });
  const filter = document.createElement("input");
  filter.type = "search";
  filter.placeholder = "filter rows: words, all must occur";
  filter.setAttribute("aria-label", "filter rows");
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows()) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
  table.parentElement.before(filter);
}
