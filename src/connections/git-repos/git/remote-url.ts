import { Invalid } from '../../../platform/errors/index.js';

const MAX_URL = 1000;

export interface RemoteUrl {
  readonly href: string;
  readonly host: string;
  readonly port: number;
  /** Paths that git asks for when it asks for this repository: servers know it with and without `.git`. */
  readonly paths: readonly string[];
  /** Name of the folder that it is cloned to. */
  readonly name: string;
}

/** Reads an address of a repository; throws Invalid for all but plain https. */
export function remoteUrl(text: string): RemoteUrl {
  const url = text.length <= MAX_URL ? URL.parse(text) : null;
  if (url?.protocol !== 'https:')
    throw new Invalid('url must be an https address, such as https://github.com/acme/site.git');
  if (url.username || url.password)
    throw new Invalid(
      'url must have no user name or token: grant a connection, and name it as connection_id',
    );
  if (url.search || url.hash) throw new Invalid('url must have no query and no fragment');
  // As it is written: a parser would have resolved some of it.
  if (/[%\\]|\/\.{1,2}(?:\/|$)/.test(text))
    throw new Invalid('url must have the path of a repository, without %, .. and empty parts');
  const path = url.pathname.replace(/\/+$/, '');
  const segments = path.split('/').slice(1);
  if (/[^\x21-\x7e]/.test(path) || segments.some(segment => /^(\.{0,2})$/.test(segment)))
    throw new Invalid('url must have the path of a repository, without %, .. and empty parts');
  const bare = path.replace(/\.git$/, '');
  const name = bare.split('/').at(-1) ?? '';
  if (name === '') throw new Invalid('url must name a repository');
  return {
    href: `https://${url.host}${path}`,
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? 443 : Number(url.port),
    paths: [bare, `${bare}.git`],
    name,
  };
}
