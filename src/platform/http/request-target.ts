const ORIGIN = /^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i;

/** The target of a request (RFC 9112 section 3.2) as the router takes it. */
export interface RequestTarget {
  /** In one spelling, whatever was escaped: what routes are compared with. `/` at least. */
  readonly path: string;
  /** As it was sent, without what an absolute target says before it. */
  readonly rawPath: string;
  /** What follows `?`; empty where nothing does. */
  readonly query: string;
  /** Path and query as they were sent. */
  readonly address: string;
}

/** Takes a target apart. Absolute ones and escaped letters lead to the same route, so nothing may be decided by `request.url`. */
export function targetOf(url: string): RequestTarget {
  const [target = ''] = url.replace(ORIGIN, '').split('#', 1);
  const at = target.indexOf('?');
  const rawPath = (at < 0 ? target : target.slice(0, at)) || '/';
  const query = at < 0 ? '' : target.slice(at + 1);
  return { path: decoded(rawPath), rawPath, query, address: query === '' ? rawPath : `${rawPath}?${query}` };
}

function decoded(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path; // the router refuses it
  }
}
