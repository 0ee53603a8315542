import { isExactNumber, textOf } from '#libs/exact-json/index.js';
import { checked } from '../../../platform/dto/index.js';
import { Invalid } from '../../../platform/errors/index.js';
import { ProviderDefinition } from './definition.js';

const PLACEHOLDER = /\{([a-z_]+)\}/g;
/** Of the service itself, or of one connection alone. */
const RESERVED_HEADERS =
  /^(host|content-length|transfer-encoding|connection|cookie|upgrade|te|trailer|proxy-.*)$/i;

/** Checks what the shape of a provider does not say. Throws Invalid. */
export function checkProvider(plain: unknown, refuse: (url: URL, field: string) => void): ProviderDefinition {
  const definition = checked(ProviderDefinition, plain);
  const { auth, authorize_url, token_url, api, fields = [], identity, revocation, issuer } = definition;
  if (auth === 'oauth2' && !(authorize_url && token_url))
    throw new Invalid('authorize_url and token_url must be there where auth is oauth2');
  if (!/^https:\/\/\S+$/.test(definition.docs)) throw new Invalid('docs must be an https address');
  const names = fields.map(({ name }) => name);
  if (new Set(names).size < names.length) throw new Invalid('fields must have different names');
  if (auth === 'api_key' && !fields.some(({ secret }) => secret))
    throw new Invalid('fields must have one that is secret where auth is api_key');
  if (auth === 'basic' && !(names.includes('username') && names.includes('password')))
    throw new Invalid('fields must have username and password where auth is basic');
  for (const [field, text] of Object.entries({
    base_url: api.base_url,
    header: api.header,
    template: api.template,
  }))
    for (const [, name = ''] of text.matchAll(PLACEHOLDER))
      if (!names.includes(name) && !(field === 'template' && ['access_token', 'basic'].includes(name)))
        throw new Invalid(`api.${field} names {${name}}, which is none of fields`);
  for (const [name, value] of Object.entries({ ...definition.authorize_params, ...api.headers }))
    if (typeof value !== 'string' || !/^[\x20-\x7e]{0,500}$/.test(value))
      throw new Invalid(`${name} must be a text of at most 500 plain characters`);
  for (const name of Object.keys(api.headers ?? {})) requireHeader(name, 'api.headers');
  if (!api.header.includes('{')) requireHeader(api.header, 'api.header');
  const addresses = {
    authorize_url,
    token_url,
    issuer,
    'identity.url': identity?.url,
    'revocation.url': revocation?.url,
  };
  const base = api.base_url.includes('{') ? {} : { 'api.base_url': api.base_url };
  for (const [field, text] of Object.entries({ ...addresses, ...base })) {
    if (text === undefined) continue;
    const url = URL.parse(text);
    if (!url) throw new Invalid(`${field} must be an address`);
    refuse(url, field);
  }
  for (const [field, hosts] of Object.entries({
    'api.hosts': api.hosts,
    'git.hosts': definition.git?.hosts ?? [],
  }))
    for (const host of hosts)
      if (URL.parse(`https://${host}`)?.host !== host.toLowerCase())
        throw new Invalid(
          `${field} must have hosts such as api.example.com; "${host.slice(0, 100)}" is none`,
        );
  return definition;
}

/** Refuses what is no header, or one that belongs to the connection. */
export function requireHeader(name: string, field: string): void {
  if (!/^[A-Za-z][A-Za-z0-9-]{0,59}$/.test(name) || RESERVED_HEADERS.test(name))
    throw new Invalid(`${field} must not have the header ${name.slice(0, 60)}`);
}

/** Puts fields into a text of the definition; what is not there is empty. */
export const filledIn = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replace(PLACEHOLDER, (_, name: string) => (Object.hasOwn(values, name) ? (values[name] ?? '') : ''));

/** Text at a dotted path of an answer. */
export function textAt(value: unknown, path: string): string | undefined {
  let at: unknown = value;
  for (const name of path.split('.'))
    at =
      typeof at === 'object' && at !== null && Object.hasOwn(at, name)
        ? (at as Record<string, unknown>)[name]
        : undefined;
  return typeof at === 'string' || typeof at === 'number' || isExactNumber(at)
    ? textOf(at).slice(0, 200)
    : undefined;
}
