/**
 * Texts of which every line that a regular expression matches holds at least one; null where none is known. Lets a
 * program that only knows texts leave out most files. Rather null than wrong: what is not plain is not looked into.
 */
export function literalsOf(regex: string): string[] | null {
  if (/\\[QEpPxC0-9]|\(\?[^:P<]|\[\[|[^\x20-\x7e]/.test(regex)) return null;
  const longest = topLevelRuns(regex)?.map(runs => runs.reduce((a, b) => (b.length > a.length ? b : a), ''));
  return longest?.every(run => run !== '') ? longest : null;
}

/** The plain texts outside of groups and classes, for each top-level alternative. */
function topLevelRuns(regex: string): string[][] | null {
  const alternatives: string[][] = [['']];
  for (const { text, isPlain, depth } of tokensOf(regex)) {
    const runs = alternatives.at(-1) ?? [];
    if (depth > 0) endRun(runs);
    else if (text === '|') alternatives.push(['']);
    else if (isPlain) runs[runs.length - 1] += text;
    else if (/^[?*{]/.test(text)) {
      // What stands before may be missing.
      runs[runs.length - 1] = (runs.at(-1) ?? '').slice(0, -1);
      endRun(runs);
    } else endRun(runs);
  }
  return alternatives;
}

function endRun(runs: string[]): void {
  if (runs.at(-1) !== '') runs.push('');
}

interface Token {
  text: string;
  isPlain: boolean;
  depth: number;
}

function* tokensOf(regex: string): Generator<Token> {
  let depth = 0;
  for (const [text] of regex.matchAll(/\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{[^}]*\}|./g)) {
    if (text === '(') depth++;
    const escaped = text.length === 2 && text.startsWith('\\') && /\W/.test(text.charAt(1));
    const isPlain = escaped || (text.length === 1 && !/[.^$*+?()|\\[\]{}]/.test(text));
    yield { text: escaped ? text.charAt(1) : text, isPlain, depth };
    if (text === ')') depth--;
  }
}
