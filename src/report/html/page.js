// SPDX-License-Identifier: Apache-2.0
// Conveniences of a page that reads without them: kernels light up in every picture, tables sort,
// links open what they lead to, printing shows what is folded.
'use strict';

// What leads to the same kernel lights up together.
for (const each of document.querySelectorAll('[data-k]')) {
  const all = () => document.querySelectorAll('[data-k="' + each.dataset.k + '"]');
  each.addEventListener('mouseenter', () => all().forEach(one => one.classList.add('hot')));
  each.addEventListener('mouseleave', () => all().forEach(one => one.classList.remove('hot')));
}

// The folded part that the address names, and those around it.
function unfold() {
  const name = decodeURIComponent(location.hash.slice(1));
  for (let at = name && document.getElementById(name); at; at = at.parentElement)
    if (at.tagName === 'DETAILS')
      at.open = true;
  const found = name && document.getElementById(name);
  if (found)
    found.scrollIntoView();
}
addEventListener('hashchange', unfold);
unfold();

// A click on a head sorts by that column: numbers by value, the largest first, text by letters.
function value(row, column) {
  const text = row.cells[column].textContent.trim();
  const number = parseFloat(text);
  return Number.isNaN(number) ? text : number;
}

function sortBy(head) {
  const body = head.closest('table').tBodies[0];
  const rows = [...body.rows].filter(row => !row.classList.contains('sum'));
  const isUp = head.dataset.up === 'no';
  for (const other of head.parentElement.cells)
    delete other.dataset.up;
  head.dataset.up = isUp ? 'yes' : 'no';
  const sign = isUp ? 1 : -1;
  rows.sort((a, b) => {
    const x = value(a, head.cellIndex), y = value(b, head.cellIndex);
    return sign * (typeof x === 'number' && typeof y === 'number' ? x - y : String(x).localeCompare(String(y)));
  });
  body.prepend(...rows);
}

for (const head of document.querySelectorAll('th')) {
  head.style.cursor = 'pointer';
  head.title = 'sort by ' + head.textContent;
  head.addEventListener('click', () => sortBy(head));
}

// Paper shows all.
let folded = [];
addEventListener('beforeprint', () => {
  folded = [...document.querySelectorAll('details:not([open])')];
  folded.forEach(one => { one.open = true; });
});
addEventListener('afterprint', () => folded.forEach(one => { one.open = false; }));
