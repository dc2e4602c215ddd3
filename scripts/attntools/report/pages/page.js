"use strict";
// Filters, sorting and rows of details; the page reads the same without them.
for (const table of document.querySelectorAll("table.cells")) {
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const detail = new Map();

  // What a cell shows while its details are closed.
  const shown = (cell) => (cell.querySelector("summary") || cell).textContent;
  const texts = new Map(
    rows.map((row) => [row, Array.from(row.cells, shown).join(" ").toLowerCase()]));

  // ---- details: under their row, as wide as the table
  for (const row of rows) {
    const opener = row.querySelector("details");
    if (!opener) continue;
    opener.addEventListener("toggle", () => {
      if (!detail.has(row)) {
        const line = document.createElement("tr");
        line.className = "detail";
        const cell = line.insertCell();
        cell.colSpan = row.cells.length;
        cell.append(opener.querySelector("div"));
        detail.set(row, line);
        row.after(line);
      }
      detail.get(row).hidden = !opener.open;
    });
  }

  // ---- sorting
  const key = (row, i) => {
    const cell = row.cells[i];
    const text = "value" in cell.dataset ? cell.dataset.value : shown(cell);
    return cell.classList.contains("n") ? (text === "" ? NaN : Number(text)) : text;
  };
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach((head, i) => {
    const button = document.createElement("button");
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const keys = new Map(rows.map((row) => [row, key(row, i)]));
      rows.sort((a, b) => {
        const x = keys.get(a), y = keys.get(b);
        // A cell without a value is last whichever way the others go.
        if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
        const less = typeof x === "number" ? x - y : x.localeCompare(y, "en", { numeric: true });
        return down ? -less : less;
      });
      for (const row of rows) body.append(row, ...(detail.has(row) ? [detail.get(row)] : []));
    });
  });

  // ---- filters: a choice for each named attribute that differs, and words
  const bar = document.createElement("div");
  bar.className = "filters";
  const choices = [];
  for (const name of (table.dataset.filters || "").split(" ").filter(Boolean)) {
    const known = [...new Set(rows.map((row) => row.dataset[name]))];
    if (known.length < 2) continue;
    const label = document.createElement("label");
    const select = document.createElement("select");
    select.name = name;
    for (const text of ["all", ...known]) select.add(new Option(text, text === "all" ? "" : text));
    label.append(name, select);
    bar.append(label);
    choices.push(select);
    select.addEventListener("change", show);
  }
  const search = document.createElement("input");
  search.type = "search";
  search.placeholder = "words, all must occur";
  search.setAttribute("aria-label", "filter rows by words");
  search.addEventListener("input", show);
  const count = document.createElement("span");
  count.setAttribute("role", "status");
  bar.append(search, count);
  table.parentElement.before(bar);

  function show() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let seen = 0;
    for (const row of rows) {
      const fits = choices.every((c) => !c.value || row.dataset[c.name] === c.value)
        && words.every((word) => texts.get(row).includes(word));
      row.hidden = !fits;
      if (detail.has(row)) detail.get(row).hidden = !fits || !row.querySelector("details").open;
      seen += fits;
    }
    count.textContent = `${seen} of ${rows.length}`;
  }
  show();
}
