// What is said of the numbers, in sentences.

const GRAD_SCALER = { start: 16, interval: 2000 }; // torch's: 65,536, and how many good steps before it grows

function shareOf(n, all) {
  const share = all ? n / all : 0;
  let digits = 3;
  while (share < 1 && digits < 9 && Number(generalText(100 * share, digits)) === 100) digits++;
  return `${generalText(100 * share, digits)}\u00a0%`;
}

// 65,536, or in few digits where it is very large or small.
function scaleText(power) {
  return power >= 0 && power < 50 ? countText(2 ** power) : shortText(2 ** power, power < 0 && power >= -10 ? 10 : 3);
}

// A limit of a format: 65,504, and 5.96e-08.
function limitText(x) {
  return x >= 1000 && x < 1e9 ? countText(x) : shortText(x, 3);
}

// The range of a format.
function rangeText(kind) {
  const from = limitText(kind.overflowsFrom);
  return (
    `${kind.name}: ${kind.about}. Smallest positive number ${limitText(kind.smallest)}: half of it and less becomes 0. ` +
    `All digits from ${limitText(kind.normal)}. ` +
    `Largest ${limitText(kind.largest)}: ${kind.isFrom ? `from ${from} on` : `above ${from}`} it overflows.`
  );
}

// What "fewer digits" means.
function digitsText(kind) {
  const [normal, smallest] = [limitText(kind.normal), limitText(kind.smallest)];
  return (
    `Fewer digits: below ${normal} ${kind.name} has no smaller exponent left, and its numbers (called subnormal) are ` +
    `multiples of ${smallest}: the smaller, the fewer digits they have.`
  );
}

function groupText(group) {
  return group.kind === "all" ? "the whole gradient" : `the gradient of ${group.name}`;
}

// What the format does to the group's numbers at a scale.
function outcomeText(group, kind, power) {
  const { nonzero } = group;
  if (!group.values) return `There are no numbers in ${groupText(group)}.`;
  const more = nonzero || group.zero ? " more" : "";
  const odd = group.odd ? ` ${countText(group.odd)}${more} ${group.odd === 1 ? "is" : "are"} inf or nan at any scale.` : "";
  if (!nonzero) {
    const why = group.zero ? "every finite number in it is 0" : "it has no finite number";
    return `There is nothing to lose in ${groupText(group)}: ${why}.${odd}`;
  }
  const { lost, short, overflowed } = countedAt(group, kind, power);
  const values = `${countText(nonzero)} nonzero ${nonzero === 1 ? "value" : "values"}${group.kind === "all" ? "" : ` of ${group.name}`}`;
  return (
    `At scale ${scaleText(power)}, ${kind.name} rounds ${amountOf(lost, nonzero)} of ${values} to zero, ` +
    `keeps ${amountOf(short, nonzero)} with fewer digits, ` +
    `and ${amountOf(overflowed, nonzero)} ${overflowed > 1 ? "overflow" : "overflows"}.` +
    `${rescueText(group, kind, power, lost)}${odd}`
  );
}

// What the scale is for: how many of those that are lost without it are not. What is lost at a larger scale is at all
// smaller ones, too.
function rescueText(group, kind, power, lost) {
  const before = countedAt(group, kind, 0).lost;
  if (power <= 0 || !before) return "";
  const many = lost > before / 2 ? countText(before - lost) : lost ? `all but ${countText(lost)}` : "all";
  return ` Without the scale ${countText(before)} would be rounded to zero: it rescues ${lost === before ? "none" : many} of them.`;
}

function amountOf(n, all) {
  return n ? `${countText(n)} (${shareOf(n, all)})` : "none";
}

// Which scales suit the group.
function bestText(group, kind) {
  const { from, to } = bestScales(group, kind);
  if (!group.nonzero) return "";
  if (from === null) return `At no scale does ${kind.name} keep all of ${groupText(group)} from zero.`;
  if (to === null) return `At every scale something overflows in ${kind.name}.`;
  if (from > to) {
    return `No scale suits all: ${kind.name} loses nothing from ${scaleText(from)} on, and overflows above ${scaleText(to)}.`;
  }
  if (from === to) return `At scale ${scaleText(from)}, and at no other power of two, nothing is lost and nothing overflows.`;
  return `From scale ${scaleText(from)} to ${scaleText(to)} nothing is lost and nothing overflows.`;
}

// What GradScaler does at this scale: it looks at the whole gradient.
function stepText(whole, kind, power) {
  const without = kind.name === "bf16" ? " It is rarely used with bf16, which has float32's range." : "";
  if (whole.odd) {
    const are = `${countText(whole.odd)} of the whole gradient's numbers ${whole.odd === 1 ? "is" : "are"}`;
    return `${are} inf or nan before the scale: GradScaler skips this step and halves the scale, whatever it is.${without}`;
  }
  const { overflowed } = countedAt(whole, kind, power);
  if (overflowed) {
    const what = `${countText(overflowed)} of the whole gradient ${overflowed === 1 ? "overflows" : "overflow"}`;
    return `${what}, so GradScaler skips this step and halves the scale, to ${scaleText(power - 1)}.${without}`;
  }
  const again = power ? `divides it by ${scaleText(power)} again and makes the step` : "makes the step";
  const then = `After ${countText(GRAD_SCALER.interval)} such steps in a row it doubles the scale.`;
  return `Nothing of the whole gradient overflows: GradScaler ${again}. ${then}${without}`;
}

// Its way from where it starts, were the gradient the same at each step.
function wayText(whole, kind) {
  if (whole.odd) return "With inf or nan in the gradient every step is skipped, and halving the scale never ends it.";
  const way = halvings(whole, kind, GRAD_SCALER.start);
  const step = ([power, overflowed]) => {
    const what = `${countText(overflowed)} ${overflowed === 1 ? "overflows" : "overflow"}, skipped`;
    return `at ${scaleText(power)}: ${overflowed ? what : "none overflows, and the step is made"}`;
  };
  const shown = way.length > 6 ? [...way.slice(0, 3).map(step), `${way.length - 5} more halvings`, ...way.slice(-2).map(step)] : way.map(step);
  return `Were this the gradient of every step: ${shown.join("; ")}.`;
}
