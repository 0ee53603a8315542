import { isUtf8 } from 'node:buffer';

export interface UnifiedDiff {
  readonly diff: string;
  readonly binary: boolean;
  readonly additions: number;
  readonly deletions: number;
}

/** A path in the head of a diff: in quotes where it could be taken for something else (git-config, core.quotePath). */
function headName(prefix: 'a' | 'b', path: string | null): string {
  if (path === null) return '/dev/null';
  const name = `${prefix}/${path}`;
  const quoted = JSON.stringify(name);
  return quoted === `"${name}"` ? name : quoted;
}

/** Gives git's comparison of two contents the names of the files that had them; null: there was none. */
export function unifiedDiff(printed: string, before: string | null, after: string | null): UnifiedDiff {
  const names = [headName('a', before), headName('b', after)] as const;
  if (/^Binary files .* differ$/m.test(headOf(printed)))
    return { diff: `Binary files ${names.join(' and ')} differ\n`, binary: true, additions: 0, deletions: 0 };
  const start = printed.search(/^@@ /m);
  if (start === -1) return { diff: '', binary: false, additions: 0, deletions: 0 };
  const hunks = printed.slice(start);
  return {
    diff: `--- ${names[0]}\n+++ ${names[1]}\n${hunks}`,
    binary: false,
    additions: linesWith('+', hunks),
    deletions: linesWith('-', hunks),
  };
}

/** How many lines begin with a sign. Only git's line ends count, not the others that a text may hold. */
function linesWith(sign: '+' | '-', hunks: string): number {
  let count = 0;
  for (let at = hunks.indexOf(`\n${sign}`); at !== -1; at = hunks.indexOf(`\n${sign}`, at + 2)) count++;
  return count;
}

const headOf = (printed: string) => printed.split(/^@@ /m, 1)[0] ?? '';

/** Whether bytes are text that a person, or JSON, can be shown. */
export function isText(bytes: Buffer): boolean {
  return !bytes.includes(0) && isUtf8(bytes);
}
