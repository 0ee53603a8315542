/** Something about a version that its author should know. A version with errors can be served. */
export interface Finding {
  /** `error`: a file or a rule is left out. `warning`: it is served, and probably not as meant. */
  level: 'error' | 'warning';
  /** The path of the file that it is about: `_headers`, `_redirects`, or one of the site. */
  file?: string;
  /** The line in that file, from 1. */
  line?: number;
  /** One or two plain sentences. */
  message: string;
}

/** How many findings a version lists; the rest is counted. */
const MAX_FINDINGS = 200;

/** At most {@link MAX_FINDINGS}, errors first, and one that counts the others. */
export function limited(findings: Finding[]): Finding[] {
  if (findings.length <= MAX_FINDINGS) return findings;
  const sorted = [
    ...findings.filter(({ level }) => level === 'error'),
    ...findings.filter(({ level }) => level !== 'error'),
  ];
  const more = sorted.length - MAX_FINDINGS;
  return [
    ...sorted.slice(0, MAX_FINDINGS),
    { level: 'warning', message: `${more} more findings are not listed.` },
  ];
}
