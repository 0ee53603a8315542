import type { HeaderRule } from './header-rules.js';
import type { RedirectRule } from './redirect-rules.js';

/** A file of a version: where it is on the site, and which blob has its bytes. */
export interface SiteFile {
  /** Relative, `/` between the parts, in NFC: `docs/index.html`. */
  path: string;
  /** The sha256 of its bytes, 64 lower-case hexadecimal digits. */
  hash: string;
  /** Bytes as they are, without an encoding. */
  size: number;
  /** The value of `Content-Type`, with its charset. */
  type: string;
  /** Bytes of the brotli form, where there is one. */
  br?: number;
  /** Bytes of the gzip form, where there is one. */
  gz?: number;
  /** The name has a hash of the content in it, and no earlier version had other bytes under it: it may be kept for a year. */
  hashed: boolean;
}

/** A version of a site: what is at each path, and the rules. It never changes. */
export interface Manifest {
  /** In the order of their paths. */
  files: SiteFile[];
  /** Navigations to unknown paths get `index.html` (a single-page application). */
  spa: boolean;
  /** What `_headers` said, in its order. */
  headers: HeaderRule[];
  /** What `_redirects` said, in its order. */
  redirects: RedirectRule[];
}
