import { parseJson } from '#libs/exact-json/index.js';
/** The JSON text in what a model wrote: all of it, in a fence, or from the first bracket to the last. */
export function readJson(text: string): { text: string } | { fault: string } {
  const whole = text.trim();
  const fenced = inFence(whole);
  const first = whole.search(/[[{]/);
  const last = Math.max(whole.lastIndexOf(']'), whole.lastIndexOf('}'));
  const bare = first >= 0 && last > first ? whole.slice(first, last + 1) : undefined;
  let fault = 'it is empty';
  for (const candidate of [whole, fenced, bare]) {
    if (!candidate) continue;
    try {
      parseJson(candidate);
      return { text: candidate };
    } catch (error) {
      if (candidate === whole) fault = error instanceof Error ? error.message : String(error);
    }
  }
  return { fault };
}

/** What is in the first fence (CommonMark 4.5), with or without the word json; in time that grows with the text alone. */
function inFence(text: string): string | undefined {
  const opening = /```(?:json)?[^\S\n]*\n/.exec(text);
  if (!opening) return undefined;
  const content = text.slice(opening.index + opening[0].length);
  const end = content.search(/^[^\S\n]*```/m);
  return end < 0 ? undefined : content.slice(0, end);
}
