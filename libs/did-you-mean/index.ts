/** Longer words are not compared: the cost grows with the square of the length. */
const MAX_CHARACTERS = 64;

/**
 * The one of `known` that differs from `word` by at most a third of its letters (or by `maxDistance` edits, where that is
 * given); null where none does. Case counts for nothing, and - is the same as _.
 */
export function didYouMean(
  word: string,
  known: Iterable<string>,
  maxDistance = Math.max(1, Math.floor(word.length / 3)),
): string | null {
  if (word.length > MAX_CHARACTERS) return null;
  const wanted = plain(word);
  let best: string | null = null;
  let least = maxDistance + 1;
  for (const candidate of known) {
    // Each edit changes the length by one at most.
    if (Math.abs(candidate.length - word.length) >= least) continue;
    const distance = editDistance(wanted, plain(candidate));
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

const plain = (word: string) => word.toLowerCase().replaceAll('-', '_');

/** Insertions, deletions, replacements and swaps of neighbours (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      const costs = [(last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (isSame ? 0 : 1)];
      if (a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) costs.push((before[j - 2] ?? 0) + 1);
      row.push(Math.min(...costs));
    }
    before = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
