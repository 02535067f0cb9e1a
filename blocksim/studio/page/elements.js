// Elements of lists and matrices, "pd.kp[0]" and "plant.A[1,0]": changes hold the list or its elements, never both.

/** The name of the list, and the place in it; no place for what is no element. */
export function splitElement(path) {
  const match = /^(.*)\[(\d+)(?:,(\d+))?\]$/.exec(path);
  return match ? { list: match[1], place: match.slice(2).filter((part) => part !== undefined).map(Number) } : { list: path, place: [] };
}

function elementAt(list, place) { return place.reduce((rows, index) => rows?.[index], list); }

function withElement(list, [index, ...rest], value) {
  return list.map((row, n) => (n !== index ? row : rest.length ? withElement(row, rest, value) : value));
}

/** What a field is with these changes: its own, that of its list, or a list with its elements in their places. */
export function valueOf(field, changes) {
  const { list, place } = splitElement(field.path);
  if (field.path in changes) return changes[field.path];
  if (place.length && list in changes) return elementAt(changes[list], place) ?? field.value;
  if (!Array.isArray(field.value)) return field.value;
  return elementsOf(field.path, changes).reduce((value, path) => withElement(value, splitElement(path).place, changes[path]), field.value);
}

function elementsOf(path, changes) { return Object.keys(changes).filter((name) => name.startsWith(`${path}[`)); }

/** The changes with another value of a field; what the file says already is no change. */
export function withChange(changes, field, value) {
  const { list, place } = splitElement(field.path), rest = { ...changes };
  for (const path of elementsOf(field.path, changes)) delete rest[path];
  if (place.length && Array.isArray(changes[list])) return { ...rest, [list]: withElement(changes[list], place, value) };
  if (isSame(value, field.value)) delete rest[field.path]; else rest[field.path] = value;
  return rest;
}

/** Whether two values say the same; a list is its numbers. */
export function isSame(one, other) { return JSON.stringify(one) === JSON.stringify(other); }
