/** The JSON value in what a model wrote: all of it, in a fence, or from the first bracket to the last. */
export function readJson(text: string): { value: unknown } | { fault: string } {
  const whole = text.trim();
  const fenced = /```(?:json)?\s*\n([\s\S]*?)\n\s*```/.exec(whole)?.[1];
  const first = whole.search(/[[{]/);
  const last = Math.max(whole.lastIndexOf(']'), whole.lastIndexOf('}'));
  const bare = first >= 0 && last > first ? whole.slice(first, last + 1) : undefined;
  let fault = 'it is empty';
  for (const candidate of [whole, fenced, bare]) {
    if (!candidate) continue;
    try {
      return { value: JSON.parse(candidate) };
    } catch (error) {
      if (candidate === whole) fault = error instanceof Error ? error.message : String(error);
    }
  }
  return { fault };
}
