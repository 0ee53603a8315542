import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Finding, limited } from './finding.js';
import { looksHashed } from './hashed-name.js';
import { parseHeaders } from './header-rules.js';
import type { Manifest, SiteFile } from './manifest.js';
import { mediaTypeOf } from './media-type.js';
import { faultOfPath } from './paths.js';
import { parseRedirects, type RedirectRule } from './redirect-rules.js';

/** A file of the output of a build. What is not given is told by its name. */
export interface CollectedFile {
  /** Relative, `/` between the parts; in any Unicode form. */
  path: string;
  /** sha256, 64 lower-case hexadecimal digits. */
  hash: string;
  /** Bytes. */
  size: number;
  type?: string;
  br?: number;
  gz?: number;
}

/** What a version is made of. */
export interface ManifestInput {
  files: readonly CollectedFile[];
  /** The text of `_headers`. */
  headers?: string;
  /** The text of `_redirects`. */
  redirects?: string;
  /** Whether unknown addresses get `index.html`; null: where it is the only page. */
  spa: boolean | null;
  /** Versions before this one: a name under which they had other bytes is not kept for a year. */
  earlier?: readonly Manifest[];
  /** Folders at the top that the server answers itself, such as `_atelier`. */
  reserved?: readonly string[];
}

/** So many files are looked at before others get their turn. */
const BATCH = 1000;

/** Left out without a word: they are there for other programs. */
const UNSAID = /(^|\/)\.(DS_Store|nojekyll|gitkeep|gitignore|keep)$/;

/**
 * Makes the manifest of a version, and says what is wrong with it. Names become NFC; those that no address can have, and files that
 * begin with a dot (but for `.well-known`), are left out. Lets others run every thousand files. Throws a TypeError for a hash or
 * a size that is none.
 */
export async function buildManifest(
  input: ManifestInput,
): Promise<{ manifest: Manifest; findings: Finding[] }> {
  const findings: Finding[] = [];
  const files = await named(input, findings);
  const headers = parseHeaders(input.headers ?? '');
  const redirects = parseRedirects(input.redirects ?? '');
  findings.push(...headers.findings, ...redirects.findings, ...missingTargets(redirects.rules, files));
  await forgetReused(files, input.earlier ?? []);
  const spa = input.spa ?? isSinglePage(files);
  if (spa && !files.has('index.html'))
    findings.push({
      level: 'warning',
      message: 'The site is a single-page application without index.html: unknown addresses get 404.',
    });
  else if (!files.has('index.html') && !redirects.rules.some(({ path }) => path === '/' || path === '/*'))
    findings.push({
      level: 'warning',
      message: 'There is no index.html: the address of the site itself gets 404.',
    });
  const manifest = { files: [...files.values()], spa, headers: headers.rules, redirects: redirects.rules };
  return { manifest, findings: limited(findings) };
}

/** The files by their names on the site, in the order of these. */
async function named(
  { files, reserved = [] }: ManifestInput,
  findings: Finding[],
): Promise<Map<string, SiteFile>> {
  const found = new Map<string, SiteFile>();
  const folded = new Map<string, string>();
  const dotted = new Set<string>();
  // Of two forms of a name, the one in NFC comes first and stays.
  const sorted = files
    .map(file => ({ file, path: file.path.normalize('NFC') }))
    .sort(
      (a, b) => compare(a.path, b.path) || Number(a.file.path !== a.path) - Number(b.file.path !== b.path),
    );
  for (const [index, { file, path }] of sorted.entries()) {
    if (index % BATCH === BATCH - 1) await nextTurn();
    const leaveOut = (message: string) => void findings.push({ level: 'error', file: shown(path), message });
    if (path === '_headers' || path === '_redirects') continue;
    const fault = faultOfPath(path);
    const top = path.slice(0, path.indexOf('/') < 0 ? path.length : path.indexOf('/'));
    if (fault !== undefined) leaveOut(`${fault} The file is left out.`);
    else if (reserved.includes(top))
      leaveOut(`Addresses below /${top} belong to the server. The file is left out.`);
    else if (isDotted(path)) {
      const dot = path.split('/').findIndex(part => part.startsWith('.') && part !== '.well-known');
      const root = path
        .split('/')
        .slice(0, dot + 1)
        .join('/');
      if (!UNSAID.test(path) && !dotted.has(root)) {
        dotted.add(root);
        findings.push({
          level: 'warning',
          file: root,
          message: 'Names that begin with a dot are not published.',
        });
      }
    } else if (found.has(path))
      leaveOut('Two names are the same in Unicode (NFC). One of the files is left out.');
    else {
      const lower = path.toLowerCase();
      const other = folded.get(lower);
      if (other !== undefined)
        findings.push({
          level: 'warning',
          file: path,
          message: `It differs from ${other} in upper and lower case only.`,
        });
      folded.set(lower, path);
      found.set(path, siteFile(file, path));
    }
  }
  return found;
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const isDotted = (path: string): boolean =>
  (path.startsWith('.') || path.includes('/.')) &&
  path.split('/').some(part => part.startsWith('.') && part !== '.well-known');

/** For messages: without what terminals and pages would act on. */
const shown = (path: string): string => path.toWellFormed().replace(/\p{C}/gu, '\ufffd').slice(0, 200);

function siteFile({ hash, size, type, br, gz }: CollectedFile, path: string): SiteFile {
  if (!/^[0-9a-f]{64}$/.test(hash))
    throw new TypeError(`${path}: the hash is not a sha256 in hexadecimal digits`);
  if (!Number.isSafeInteger(size) || size < 0)
    throw new TypeError(`${path}: the size is not a number of bytes`);
  return {
    path,
    hash,
    size,
    type: type ?? mediaTypeOf(path),
    ...(br === undefined ? {} : { br }),
    ...(gz === undefined ? {} : { gz }),
    hashed: looksHashed(path),
  };
}

/** Browsers keep a hashed name for a year: one that has had other bytes is no such name. */
async function forgetReused(files: Map<string, SiteFile>, earlier: readonly Manifest[]): Promise<void> {
  for (const { files: before } of earlier)
    for (const [index, { path, hash }] of before.entries()) {
      if (index % (BATCH * 10) === 0) await nextTurn();
      const file = files.get(path);
      if (file?.hashed && file.hash !== hash) file.hashed = false;
    }
}

/** One page, and none for errors: what the tools for single-page applications write. */
function isSinglePage(files: Map<string, SiteFile>): boolean {
  if (!files.has('index.html')) return false;
  for (const path of files.keys()) if (path !== 'index.html' && path.endsWith('.html')) return false;
  return true;
}

/** Rules that answer with a file that is not there. */
function missingTargets(rules: readonly RedirectRule[], files: ReadonlyMap<string, SiteFile>): Finding[] {
  return rules.flatMap(({ status, to, line }) => {
    if (![200, 404, 410].includes(status) || to.includes(':')) return [];
    const name = to.slice(1);
    const names = [name, `${name}${name === '' || name.endsWith('/') ? '' : '/'}index.html`, `${name}.html`];
    if (names.some(one => files.has(one))) return [];
    return [
      {
        level: 'warning' as const,
        file: '_redirects',
        line,
        message: `There is no file at ${to}: the rule does nothing.`,
      },
    ];
  });
}
