import fresh from 'fresh';
import { type Answer, type BlobBody, type SiteRequest, sentence } from './answer.js';
import { acceptedEncodings, type Encoding, isMatch, rangeOf } from './conditions.js';
import { HeaderTable } from './header-table.js';
import { type Cacheability, type Form, formOf } from './heads.js';
import type { Manifest, SiteFile } from './manifest.js';
import { isAsset } from './media-type.js';
import { encodedPath, readTarget, type Target } from './paths.js';
import { isRedirect, locationFor, rewritten } from './redirect-rules.js';
import { type MatchedRedirect, RedirectTable } from './redirect-table.js';

/** How a request is answered. */
export interface AnswerOptions {
  /** Versions before this one, newest first, at most ten: where assets are looked for that this one does not have. */
  earlier?: readonly StaticSite[];
  /** Who may keep what is answered: `public` only where everybody may open the site. By default `private`. */
  cacheability?: Cacheability;
}

/** Of earlier versions, so many are asked. */
const MAX_EARLIER = 10;

/** Why a file is answered: it changes the headers. */
interface Found {
  file: SiteFile;
  status: number;
  vary: readonly string[];
  cacheControl?: string;
  extra: readonly string[];
}

const PLAIN: readonly string[] = [];
const NAVIGATION = ['Accept', 'Sec-Fetch-Mode'];

/** The forms of a file under one path: [identity, br, gz] for public answers, then for private ones. */
type Forms = (Form | undefined)[];

/**
 * A version of a site, ready to answer. Compiled once, it looks everything up in maps: no name of a file is ever made of a request.
 * All of it is synchronous and takes time in proportion to the request.
 */
export class StaticSite {
  readonly #files = new Map<string, SiteFile>();
  readonly #redirects: RedirectTable;
  readonly #headers: HeaderTable;
  readonly #spa: SiteFile | undefined;
  readonly #version: string | undefined;
  /** By the path asked for: of files only, so no more than three for each. */
  readonly #forms = new Map<string, Forms>();

  /** `version` is what `Atelier-Version` says when a later version answers with a file of this one, such as its number. */
  constructor(manifest: Manifest, options: { version?: string } = {}) {
    for (const file of manifest.files) this.#files.set(file.path, file);
    this.#redirects = new RedirectTable(manifest.redirects);
    this.#headers = new HeaderTable(manifest.headers);
    this.#spa = manifest.spa ? this.#files.get('index.html') : undefined;
    this.#version = options.version;
  }

  /**
   * What a request gets (RFC 9110): 200, 206 or 304 with a file, 301–308 of a rule or of a missing slash, 400 and 414 for targets
   * that are none, 404, 405, 412, 416. Never throws.
   */
  answer(request: SiteRequest, options: AnswerOptions = {}): Answer {
    const { method } = request;
    if (method !== 'GET' && method !== 'HEAD')
      return sentence(405, 'A static site answers GET and HEAD.', method, ['Allow', 'GET, HEAD']);
    const target = readTarget(request.path);
    if (target === 400) return sentence(400, 'The address is not valid.', method);
    if (target === 414) return sentence(414, 'The address is too long.', method);
    const cacheability = options.cacheability ?? 'private';
    const { path } = target;
    if (this.#redirects.hasForced) {
      const forced = this.#ruled(request, target, true);
      if (forced) return this.#of(forced, request, path, cacheability);
    }
    if (target.isPlain) {
      const file = this.#files.get(path.endsWith('/') ? `${path.slice(1)}index.html` : path.slice(1));
      if (file) return this.#sendCached(file, request, path, cacheability);
      const clean = this.#clean(target);
      if (clean && 'status' in clean) return clean;
      if (clean) return this.#sendCached(clean, request, path, cacheability);
      const ruled = this.#ruled(request, target, false);
      if (ruled) return this.#of(ruled, request, path, cacheability);
      const asset = this.#ofEarlier(request, path, options);
      if (asset) return asset;
    }
    const fallback = this.#fallback(request, target);
    if (fallback) return this.#of(fallback, request, path, cacheability);
    return sentence(404, 'There is nothing at this address.', method);
  }

  /** Whether a file of this version is at a path, relative and in NFC. */
  has(path: string): boolean {
    return this.#files.has(path);
  }

  /** `docs` → 301 to `docs/` where that has an index; `about` → `about.html`; `about/` → 301 to `about`. */
  #clean({ path, query }: Target): SiteFile | Answer | undefined {
    const name = path.slice(1);
    const suffix = query === undefined ? '' : `?${query}`;
    if (name.endsWith('/')) {
      const isPage = this.#files.has(`${name.slice(0, -1)}.html`);
      return isPage ? movedTo(encodedPath(path.slice(0, -1)) + suffix) : undefined;
    }
    if (this.#files.has(`${name}/index.html`)) return movedTo(`${encodedPath(path)}/${suffix}`);
    return this.#files.get(`${name}.html`);
  }

  #ruled(request: SiteRequest, target: Target, forced: boolean): Found | Answer | undefined {
    if (!target.isPlain) return undefined;
    for (const matched of this.#redirects.matches(target, request.host)) {
      // The first that fits decides: without !, it gives way to the files, and so does what is forced behind it.
      if (forced && !matched.rule.force) return undefined;
      const answer = this.#apply(matched, target);
      if (answer) return answer;
    }
    return undefined;
  }

  #apply({ rule, captures, isFixed }: MatchedRedirect, target: Target): Found | Answer | undefined {
    if (isRedirect(rule.status)) {
      const location = locationFor(rule, captures, target.query);
      // It would lead to itself for ever.
      const own = `${encodedPath(target.path)}${target.query === undefined ? '' : `?${target.query}`}`;
      return location === own ? undefined : { status: rule.status, headers: movedHeaders(location) };
    }
    const file = this.#resolve(rewritten(rule, captures));
    if (!file) return undefined;
    // A page must not be taken for the script that is missing, and be kept under its name.
    if (rule.status === 200 && !isFixed && isAsset(target.path) && !isAsset(`/${file.path}`))
      return undefined;
    return {
      file,
      status: rule.status,
      vary: PLAIN,
      extra: PLAIN,
      ...(rule.status === 200 ? {} : { cacheControl: 'no-store' }),
    };
  }

  #resolve(path: string): SiteFile | undefined {
    const name = path.slice(1);
    if (name === '' || name.endsWith('/')) return this.#files.get(`${name}index.html`);
    return this.#files.get(name) ?? this.#files.get(`${name}/index.html`) ?? this.#files.get(`${name}.html`);
  }

  #ofEarlier(request: SiteRequest, path: string, { earlier = [], cacheability = 'private' }: AnswerOptions) {
    if (!isAsset(path)) return undefined;
    for (const site of earlier.slice(0, MAX_EARLIER)) {
      const file = site.#files.get(path.slice(1));
      if (!file) continue;
      const extra = site.#version === undefined ? PLAIN : ['Atelier-Version', site.#version];
      return site.#of({ file, status: 200, vary: PLAIN, extra }, request, path, cacheability);
    }
    return undefined;
  }

  /** The page of a single-page application, or the nearest `404.html` upward. */
  #fallback({ headers }: SiteRequest, { path }: Target): Found | undefined {
    if (this.#spa && !isAsset(path) && isNavigation(headers))
      return { file: this.#spa, status: 200, vary: NAVIGATION, extra: PLAIN };
    // Every slash of the path, from its end: what is before it is a folder.
    for (let end = path.lastIndexOf('/'); end >= 0; end = end === 0 ? -1 : path.lastIndexOf('/', end - 1)) {
      const file = this.#files.get(`${path.slice(1, end + 1)}404.html`);
      if (file)
        return {
          file,
          status: 404,
          vary: this.#spa ? NAVIGATION : PLAIN,
          extra: PLAIN,
          cacheControl: 'no-store',
        };
    }
    return undefined;
  }

  /** A file at its own path: its headers are made once. */
  #sendCached(file: SiteFile, request: SiteRequest, path: string, cacheability: Cacheability): Answer {
    let forms = this.#forms.get(path);
    if (!forms) {
      forms = [];
      if (!this.#headers.hasHosts) this.#forms.set(path, forms);
    }
    const offset = cacheability === 'public' ? 0 : 3;
    const made = forms;
    return conditional(file, request, encoding => {
      const index = offset + (encoding === undefined ? 0 : encoding === 'br' ? 1 : 2);
      made[index] ??= formOf(file, encoding, {
        cacheability,
        added: this.#headers.of(path, request.host),
        extra: PLAIN,
        vary: PLAIN,
      });
      return made[index];
    });
  }

  #of(found: Found | Answer, request: SiteRequest, path: string, cacheability: Cacheability): Answer {
    if (!('file' in found)) return found;
    const { file, status, ...options } = found;
    const form = (encoding: Encoding | undefined) =>
      formOf(file, encoding, { cacheability, added: this.#headers.of(path, request.host), ...options });
    if (status === 200) return conditional(file, request, form);
    const { whole, body } = form(chosen(file, request));
    return { status, headers: whole, ...(request.method === 'HEAD' ? {} : { body }) };
  }
}

/** The stored form that the client likes best. */
function chosen(file: SiteFile, { headers }: SiteRequest): Encoding | undefined {
  if (file.br === undefined && file.gz === undefined) return undefined;
  return acceptedEncodings(headers['accept-encoding']).find(encoding => file[encoding] !== undefined);
}

/** Conditions in the order of RFC 9110 section 13.2.2, then ranges of the file as it is (section 14.2). */
function conditional(
  file: SiteFile,
  request: SiteRequest,
  formFor: (encoding: Encoding | undefined) => Form,
): Answer {
  const { method, headers } = request;
  const range =
    method === 'GET' && headers.range !== undefined && rangeFor(file, headers, () => formFor(undefined).etag);
  const form = formFor(range ? undefined : chosen(file, request));
  const ifMatch = headers['if-match'];
  if (ifMatch !== undefined && !isMatch(ifMatch, form.etag))
    return sentence(412, 'The file is another one by now.', method, ['ETag', form.etag]);
  if (fresh({ 'if-none-match': headers['if-none-match'] }, { etag: form.etag }))
    return { status: 304, headers: form.bare };
  if (range === 'unsatisfiable')
    return sentence(416, 'The file does not reach this far.', method, [
      'Content-Range',
      `bytes */${file.size}`,
    ]);
  if (range) {
    const body: BlobBody = { ...form.body, ...range };
    const part = [
      'Content-Length',
      String(range.end - range.start + 1),
      'Content-Range',
      `bytes ${range.start}-${range.end}/${file.size}`,
    ];
    return { status: 206, headers: [...form.described, ...part, ...form.bare], body };
  }
  return method === 'HEAD'
    ? { status: 200, headers: form.whole }
    : { status: 200, headers: form.whole, body: form.body };
}

/** `If-Range` with another tag, or with a date, asks for the whole (RFC 9110 section 13.1.5). */
function rangeFor(file: SiteFile, headers: SiteRequest['headers'], etag: () => string) {
  const ifRange = headers['if-range'];
  if (ifRange !== undefined && ifRange !== etag()) return undefined;
  return rangeOf(headers.range ?? '', file.size);
}

/** A person opens the address, rather than a script or a page that includes it. */
function isNavigation(headers: SiteRequest['headers']): boolean {
  const mode = headers['sec-fetch-mode'];
  if (mode !== undefined) return mode === 'navigate';
  return (headers.accept ?? '').includes('text/html');
}

const movedTo = (location: string): Answer => ({ status: 301, headers: movedHeaders(location) });

/** Redirects can change with the next version: they are asked for again each time. */
const movedHeaders = (location: string): string[] => [
  'Location',
  location,
  'Content-Length',
  '0',
  'Cache-Control',
  'private, max-age=0, must-revalidate',
];
