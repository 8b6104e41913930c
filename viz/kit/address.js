// State in the address, after the #: what a link to this page opens with. A page inside a notebook's frame has no
// address of its own, so reading and writing may come to nothing.

function readFields() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

function writeFields(fields) {
  try {
    history.replaceState(null, "", `#${fieldText(fields)}`);
  } catch {
    // as in a frame without an address
  }
}

// Fields as they stand in an address; those that are empty are left out.
function fieldText(fields) {
  const kept = Object.entries(fields).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return new URLSearchParams(kept.map(([name, value]) => [name, String(value)])).toString();
}
