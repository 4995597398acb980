"use strict";
// Everything on the page is there without this script; it only sorts, filters, copies and points.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  document.documentElement.classList.remove("no-script");

  // Marks, table rows and evidence of one candidate, by its id.
  const parts = new Map();
  for (const element of all("[data-c]")) {
    const id = element.dataset.c;
    if (!parts.has(id)) parts.set(id, []);
    parts.get(id).push(element);
  }

  // Copy: the clipboard API where the page may use it, the old way where it may not.
  const said = document.getElementById("said");
  const copy = async (text) => {
    try { await navigator.clipboard.writeText(text); return true; } catch { /* not allowed here: select and copy */ }
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  };
  for (const button of all("button.copy")) {
    button.addEventListener("click", async () => {
      const done = await copy(button.parentElement.querySelector("code").textContent);
      said.textContent = done ? "Copied" : "Could not copy; select the text instead";
      button.textContent = done ? "Copied" : "Select it";
      setTimeout(() => { button.textContent = "Copy"; }, 1600);
    });
  }

  // The other colour scheme, for this visit.
  const theme = document.getElementById("theme");
  theme.addEventListener("click", () => {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const root = document.documentElement;
    root.dataset.theme = (root.dataset.theme || (dark ? "dark" : "light")) === "dark" ? "light" : "dark";
  });

  // Load level shown in the table.
  const table = document.querySelector("table.candidates");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const load = document.getElementById("load");
  const show = () => {
    for (const row of rows) {
      const figures = JSON.parse(row.dataset.levels)[load.value] || [];
      all("td[data-figure]", row).forEach((cell, index) => {
        const [text, value] = figures[index] || ["–", ""];
        cell.textContent = text;
        cell.dataset.sort = value;
      });
    }
  };

  // Sorting: missing values last, whichever way; equal values keep their order.
  let sorted = null;
  const key = (row, column) => {
    const value = row.cells[column].dataset.sort;
    return value === "" ? null : Number.isNaN(Number(value)) ? value : Number(value);
  };
  const sort = (column, ascending) => {
    rows.sort((one, other) => {
      const [a, b] = [key(one, column), key(other, column)];
      if (a === null || b === null) return (a === null) - (b === null);
      return (a < b ? -1 : a > b ? 1 : 0) * (ascending ? 1 : -1);
    });
    body.append(...rows);
    all("thead th", table).forEach((head, index) => {
      if (index === column) head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
    sorted = { column, ascending };
  };
  all("thead th", table).forEach((head, column) => {
    head.querySelector("button")?.addEventListener("click", () => {
      const first = head.dataset.first !== "descending";
      sort(column, sorted?.column === column ? !sorted.ascending : first);
    });
  });
  load?.addEventListener("change", () => { show(); if (sorted) sort(sorted.column, sorted.ascending); });

  // Filters: words and verdicts; they hold for the table, the pictures and the evidence.
  const search = document.getElementById("search");
  const boxes = all("input[name=verdict]");
  const count = document.getElementById("count");
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const verdicts = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      const keep = verdicts.has(row.dataset.verdict) && words.every((word) => text.includes(word));
      shown += keep;
      for (const part of parts.get(row.dataset.c)) part.classList.toggle("gone", !keep);
    }
    count.textContent = `${shown} of ${rows.length} shown`;
  };
  search.addEventListener("input", filter);
  boxes.forEach((box) => box.addEventListener("change", filter));

  // Pointing at a candidate anywhere lights it up everywhere; a click keeps it lit.
  let kept = null;
  let lit = null;
  const light = (id) => {
    if (id === lit) return;
    for (const part of parts.get(lit) || []) part.classList.remove("hot");
    for (const part of parts.get(id) || []) part.classList.add("hot");
    document.body.classList.toggle("picking", id !== null);
    lit = id;
  };
  const owner = (event) => event.target.closest?.(".series[data-c], tr[data-c]");
  const tip = document.getElementById("tip");
  document.addEventListener("pointerover", (event) => light(owner(event)?.dataset.c ?? kept));
  document.addEventListener("focusin", (event) => light(owner(event)?.dataset.c ?? kept));
  document.addEventListener("click", (event) => {
    const series = event.target.closest?.(".series[data-c]");
    if (!series) return;
    kept = kept === series.dataset.c ? null : series.dataset.c;
    light(kept);
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") { kept = null; light(null); tip.hidden = true; } });

  // The words of a mark beside the pointer, at once; the browser's own come late and small. There are thousands of
  // marks: each is taken over when it is first pointed at.
  const inSeries = ".series, .series *";
  const marked = (element) => {
    for (let mark = element.closest?.(inSeries); mark; mark = mark.parentElement.closest(inSeries)) {
      if (mark.dataset.tip) return mark;
      const title = mark.querySelector(":scope > title");
      if (title) {
        mark.dataset.tip = `${title.closest("[data-name]").dataset.name}\n${title.textContent}`;
        title.remove();
        return mark;
      }
    }
    return null;
  };
  document.addEventListener("pointermove", (event) => {
    const mark = marked(event.target);
    tip.hidden = !mark;
    if (!mark) return;
    tip.textContent = mark.dataset.tip;
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, innerWidth - width - 8))}px`;
    tip.style.top = `${event.clientY + 18 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 18}px`;
  });

  // A link to a candidate opens its evidence; paper shows the evidence of all that are not filtered away.
  const open = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target instanceof HTMLDetailsElement) { target.open = true; target.scrollIntoView(); }
  };
  addEventListener("hashchange", open);
  open();
  let closed = [];
  addEventListener("beforeprint", () => { closed = all("details.candidate:not([open])"); closed.forEach((one) => { one.open = true; }); });
  addEventListener("afterprint", () => closed.forEach((one) => { one.open = false; }));
})();
