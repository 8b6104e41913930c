// What rounding to a format does to a group's numbers times a power of two: whole numbers, counted exactly as
// precision_lab/counts.py counts them. See page/binades.py for what the rows are.

// Adds to a group what is counted from: how many are neither 0 nor inf nor nan, and how many lie from each binade up.
function prepare(group) {
  group.above = new Array(group.rows.length + 1).fill(0);
  for (let i = group.rows.length - 1; i >= 0; i--) group.above[i] = group.above[i + 1] + group.rows[i][0];
  group.nonzero = group.above[0];
  return group;
}

// How many are at or above a limit, [exponent, cut], after multiplication by 2**power.
function atLeast(group, [exponent, cut], power) {
  const i = exponent - power - group.first;
  if (i < 0) return group.nonzero;
  return i < group.rows.length ? group.above[i + 1] + group.rows[i][cut] : 0;
}

// Rounded to zero, kept with fewer digits, kept, overflowed.
function countedAt(group, kind, power) {
  return parted(group.nonzero, [kind.kept, kind.full, kind.over].map((limit) => atLeast(group, limit, power)));
}

// The same of the numbers of the group's i-th binade alone.
function countedIn(group, i, kind, power) {
  const row = group.rows[i];
  const exponent = group.first + i + power;
  const beyond = ([limit, cut]) => (exponent > limit ? row[0] : exponent < limit ? 0 : row[cut]);
  return parted(row[0], [kind.kept, kind.full, kind.over].map(beyond));
}

function parted(all, [kept, full, over]) {
  return { lost: all - kept, short: kept - full, full: full - over, overflowed: over };
}

const SCALES = { least: -126, most: 127 }; // powers of two as in precision_lab/scales.py: normal float32 numbers

// The least power of two at which nothing is rounded to zero, and the largest at which nothing overflows; null where
// there is none.
function bestScales(group, kind) {
  let from = null;
  let to = null;
  for (let power = SCALES.least; power <= SCALES.most; power++) {
    const { lost, overflowed } = countedAt(group, kind, power);
    if (overflowed === 0) to = power;
    if (lost === 0 && from === null) from = power;
  }
  return { from, to };
}

// What GradScaler does with the same gradient again and again: [power, how many overflow], ..., until none does.
function halvings(group, kind, power) {
  const found = [];
  for (; power >= SCALES.least; power--) {
    const { overflowed } = countedAt(group, kind, power);
    found.push([power, overflowed]);
    if (overflowed === 0) break;
  }
  return found;
}
