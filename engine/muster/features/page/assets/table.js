"use strict";
// A table of many rows: only those in sight are in the document, so that ten thousand scroll and filter like ten.

// eslint-disable-next-line no-unused-vars
class Rows {
  static HEIGHT = 35;
  /** How the reader wants each to be sorted, also when it is built anew. */
  static orders = {};
  static printed = false;

  /** On paper nothing scrolls: all rows are drawn. */
  static print(printed) {
    Rows.printed = printed;
    if (Rows.current && Rows.current.box.isConnected) Rows.current.draw();
  }

  /** `columns`: title, `text(row)`, `sort(row)`, `cell(row)` (an element or a text), `kind` (its style). `about`: what is
   * counted. `changed(text)`: the filter has another text. */
  constructor(columns, rows, about, changed, searched = columns) {
    this.columns = columns;
    this.searched = searched;
    this.about = about;
    this.changed = changed;
    this.all = rows.map((row) => ({ row, text: null }));
    setTimeout(() => this.all.forEach((one) => this.text(one)), 100); // once the rows stand, before somebody types
    this.shown = this.all;
    this.order = Rows.orders[about] || { column: 0, down: false };
    this.at = -1;
    Rows.current = this;
    this.build();
  }

  build() {
    const make = muster.make;
    this.input = make("input", { type: "search", id: "filter", autocomplete: "off", spellcheck: "false" });
    this.input.setAttribute("aria-describedby", "count");
    this.input.placeholder = "unknown eu  or  status:Unknown region:eu";
    this.input.addEventListener("input", () => this.filter(this.input.value));
    this.count = make("span", { id: "count", className: "soft" });
    this.count.setAttribute("role", "status");
    this.body = make("tbody");
    this.heads = this.columns.map((column, number) => {
      const button = make("button", { type: "button" }, column.title);
      button.addEventListener("click", () => this.sort(number));
      const head = make("th", { scope: "col" }, button);
      if (column.kind) head.className = column.kind;
      return head;
    });
    this.table = make("table", {}, make("thead", {}, make("tr", {}, ...this.heads)), this.body);
    this.box = make("div", { className: "rows", tabIndex: 0 }, this.table);
    this.box.setAttribute("role", "region");
    this.box.setAttribute("aria-label", this.about);
    this.box.addEventListener("scroll", () => requestAnimationFrame(() => this.draw()), { passive: true });
    this.box.addEventListener("keydown", (event) => this.key(event));
    this.label = make("label", { htmlFor: "filter" }, "Filter");
    this.bar = make("div", { className: "filter" }, this.label, this.input, this.count);
    this.element = make("div", {}, this.bar, this.box);
  }

  /** Words that all have to be there; `column:word` in that column alone, `-word` nowhere. */
  filter(text, quiet = false) {
    this.input.value = text;
    const tests = text.toLowerCase().split(/\s+/).filter(Boolean).map((word) => this.test(word));
    this.found = this.all.filter((one) => tests.every((test) => test(one)));
    if (!quiet) this.changed(text);
    this.narrow();
  }

  /** Show those that the words found and `narrowed(row)` leaves. */
  narrow() {
    this.shown = this.narrowed ? this.found.filter((one) => this.narrowed(one.row)) : this.found;
    this.arrange();
    this.at = -1;
    this.box.scrollTop = 0;
    this.draw();
  }

  /** What words are searched in. */
  text(one) {
    one.text ??= this.searched.map((c) => c.text(one.row)).join("\n").toLowerCase();
    return one.text;
  }

  test(word) {
    if (word.length > 1 && word.startsWith("-")) {
      const inner = this.test(word.slice(1));
      return (one) => !inner(one);
    }
    const colon = word.indexOf(":");
    const column = colon > 0 && this.searched.find((c) => c.title.toLowerCase().startsWith(word.slice(0, colon)));
    if (!column) return (one) => this.text(one).includes(word);
    const wanted = word.slice(colon + 1);
    return (one) => column.text(one.row).toLowerCase().includes(wanted);
  }

  sort(number) {
    this.order = { column: number, down: this.order.column === number && !this.order.down };
    Rows.orders[this.about] = this.order;
    this.arrange();
    this.draw();
    if (this.sorted) this.sorted();
  }

  /** Go to the next row, or the one before, and to its link. */
  move(step) {
    this.at = Math.max(0, Math.min(this.shown.length - 1, this.at + step));
    const top = this.at * Rows.HEIGHT;
    const room = this.box.clientHeight - 2 * Rows.HEIGHT; // below the titles
    this.box.scrollTop = Math.min(top, Math.max(this.box.scrollTop, top - room));
    this.draw();
    const link = this.body.querySelector(`[aria-rowindex="${this.at + 2}"] a`);
    if (link) link.focus({ preventScroll: true });
  }

  arrange() {
    const { column, down } = this.order;
    const key = this.columns[column].sort || this.columns[column].text;
    const sign = down ? -1 : 1;
    const keyed = this.shown.map((one) => [key(one.row), one]);
    keyed.sort(([a], [b]) => (a < b ? -sign : a > b ? sign : 0)); // rows come by name, and a sort keeps the order of equals
    this.shown = keyed.map(([, one]) => one);
    this.heads.forEach((head, number) => {
      head.setAttribute("aria-sort", number !== column ? "none" : down ? "descending" : "ascending");
    });
    this.count.textContent = `${this.shown.length} of ${this.all.length} ${this.about}`;
    this.table.setAttribute("aria-rowcount", this.shown.length + 1);
  }

  draw() {
    const height = Rows.HEIGHT;
    const room = Rows.printed ? this.shown.length : Math.ceil((this.box.clientHeight || 800) / height) + 1;
    const last = Math.max(0, this.shown.length - room);
    const first = Math.max(0, Math.min(last, Math.floor(this.box.scrollTop / height) - 5));
    const rows = this.shown.slice(first, first + room + 10);
    const below = this.shown.length - first - rows.length;
    const focused = this.body.contains(document.activeElement) && document.activeElement.closest("tr").getAttribute("aria-rowindex");
    this.body.replaceChildren(
      ...(first ? [this.space(first * height)] : []),
      ...rows.map((one, number) => this.line(one.row, first + number)),
      ...(below > 0 ? [this.space(below * height)] : []),
    );
    const link = focused && this.body.querySelector(`[aria-rowindex="${focused}"] a`);
    if (link) link.focus({ preventScroll: true });
  }

  line(row, number) {
    const line = muster.make("tr", {}, ...this.columns.map((c) => muster.make("td", { title: c.text(row), className: c.kind || "" }, c.cell(row))));
    line.setAttribute("aria-rowindex", number + 2);
    return line;
  }

  space(height) {
    const cell = muster.make("td", { colSpan: this.columns.length });
    cell.style.height = `${height}px`;
    const line = muster.make("tr", { className: "space" }, cell);
    line.setAttribute("aria-hidden", "true");
    return line;
  }

  key(event) {
    const pages = { PageDown: 1, PageUp: -1 }[event.key];
    if (event.key === "Home") this.box.scrollTop = 0;
    else if (event.key === "End") this.box.scrollTop = this.box.scrollHeight;
    else if (pages) this.box.scrollTop += pages * this.box.clientHeight;
    else return;
    event.preventDefault();
  }
}
