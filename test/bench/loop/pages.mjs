/** Requests to what is no part of the API: pages of share links, of sign-in and invitations, and the authorization server. */
const MIB = 1024 * 1024;
const MAX_FORM_BYTES = 16_300;
const SHARE_HOST = 'share.localhost';

const FORMS = [
  '/auth/forgot',
  '/auth/reset',
  '/auth/verify',
  '/auth/email',
  `/invitations/${'x'.repeat(43)}/accept`,
  `/invitations/${'x'.repeat(43)}/sign-in`,
  '/oauth/token',
  '/oauth/par',
  '/oauth/revoke',
  '/oauth/introspect',
  '/oauth/device/authorize',
  '/oauth/device',
  '/oauth/interaction/x/login',
  '/oauth/interaction/x/consent',
];
const FIELDS = [
  'email',
  'password',
  'token',
  'client_id',
  'code',
  'scope',
  'redirect_uri',
  'request',
  'claims',
  'grant_type',
];

export function* hostilePages({ url, pages, hook }, texts) {
  const { port } = new URL(url);
  yield* webhooks(hook, texts);
  yield* forms(texts);
  yield* registrations(texts);
  yield* addresses(texts);
  for (const request of shares(pages, texts))
    yield { ...request, headers: { host: `${SHARE_HOST}:${port}`, ...request.headers } };
}

/** As long as they may be; what does not match the filter starts nothing. */
function* webhooks(path, { HOSTILE_KINDS, hostileText }) {
  const bodies = {
    'one text': () => JSON.stringify({ text: 'x'.repeat(24 * MIB) }),
    'many escapes': () => `{"text":"${'\\u00e9'.repeat(4 * MIB)}"}`,
    'many values': () => `[${'1,'.repeat(99_990)}"${'x'.repeat(20 * MIB)}"]`,
    'line ends': () => `{${'\n'.repeat(24 * MIB)}}`,
    'too deep': () => '['.repeat(24 * MIB),
    'what is no JSON': () => `{"text":"${'x'.repeat(24 * MIB)}`,
  };
  for (const kind of HOSTILE_KINDS)
    bodies[kind] = () => JSON.stringify({ text: hostileText(kind, 2 * MIB).toWellFormed() });
  for (const [name, body] of Object.entries(bodies))
    for (const type of ['application/json', 'text/plain', 'application/x-www-form-urlencoded'])
      yield {
        route: 'POST /api/hooks/{token}',
        name: `${name} as ${type}`,
        method: 'POST',
        path,
        body,
        headers: { 'content-type': type },
      };
}

const fitting = ({ fittingText }, kind, bytes) =>
  fittingText(kind, 1e9, bytes, text => encodeURIComponent(text.toWellFormed()).length).toWellFormed();

const form = (path, name, body) => ({
  route: `POST ${path.replace(/[\w-]{43}/, '{token}')}`,
  name,
  method: 'POST',
  path,
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  body: () => body,
});

function* forms(texts) {
  for (const path of FORMS) {
    for (const kind of texts.HOSTILE_KINDS)
      for (const field of FIELDS)
        yield form(
          path,
          `${kind} as ${field}`,
          `${fixed(field)}${field}=${encodeURIComponent(fitting(texts, kind, MAX_FORM_BYTES - 300))}`,
        );
    yield form(path, 'many fields', '&a='.repeat(5000));
    yield form(path, 'nothing but separators', '&'.repeat(16_000));
    yield form(path, 'far too much', `a=${'b'.repeat(4 * MIB)}`);
  }
}

/** So that the field is looked at. */
const fixed = field =>
  field === 'grant_type'
    ? ''
    : `grant_type=${field === 'code' ? 'authorization_code' : 'client_credentials'}&`;

function* registrations(texts) {
  const post = (name, value) => ({
    route: 'POST /oauth/register',
    name,
    method: 'POST',
    path: '/oauth/register',
    headers: { 'content-type': 'application/json' },
    body: () => JSON.stringify(value()),
  });
  const redirect_uris = ['http://127.0.0.1:9/callback'];
  for (const kind of texts.HOSTILE_KINDS) {
    const text = texts.hostileText(kind, 50_000);
    for (const field of ['client_name', 'scope', 'client_uri', 'logo_uri', 'jwks_uri', 'software_id'])
      yield post(`${kind} as ${field}`, () => ({ redirect_uris, [field]: text }));
    yield post(`${kind} as an address`, () => ({ redirect_uris: [`http://127.0.0.1:9/${text}`, text] }));
  }
  yield post('many addresses', () => ({
    redirect_uris: Array.from({ length: 2000 }, (_, n) => `http://127.0.0.1:9/${n}`),
  }));
  yield post('many keys', () => ({
    redirect_uris,
    jwks: { keys: Array.from({ length: 1000 }, () => ({ kty: 'RSA', n: 'AQAB', e: 'AQAB' })) },
  }));
  for (const [name, value] of Object.entries(texts.HOSTILE_OBJECTS)) {
    yield post(name, value);
    yield post(`${name} as keys`, () => ({ redirect_uris, jwks: value() }));
  }
}

function* addresses(texts) {
  const get = (path, name, query) => ({
    route: `GET ${path}`,
    name,
    method: 'GET',
    path: `${path}?${query}`,
    headers: {},
  });
  for (const path of [
    '/oauth/authorize',
    '/oauth/session/end',
    '/auth/reset',
    '/approvals',
    '/docs',
    '/',
    '/metrics',
    '/.well-known/oauth-protected-resource',
  ])
    for (const kind of texts.HOSTILE_KINDS)
      for (const field of [
        'client_id',
        'scope',
        'redirect_uri',
        'claims',
        'resource',
        'token',
        'id_token_hint',
      ])
        yield get(
          path,
          `${kind} as ${field}`,
          `response_type=code&${field}=${encodeURIComponent(fitting(texts, kind, 12_000))}`,
        );
  for (const kind of texts.HOSTILE_KINDS)
    yield { ...get('/{anything}', kind, ''), path: `/${encodeURIComponent(fitting(texts, kind, 12_000))}` };
}

function* shares({ folder, upload, file }, texts) {
  const get = (path, name) => ({ route: 'GET /s/{token}', name, method: 'GET', path, headers: {} });
  yield get(file, 'a file');
  yield get(folder, 'a folder');
  yield get(`${folder}/path/many`, 'a large folder');
  for (const name of [
    'shown/brackets.md',
    'shown/table.csv',
    'shown/code.ts',
    'large.txt',
    'one-line.txt',
    'short-lines.txt',
    'wide.txt',
  ]) {
    yield get(`${folder}/path/${name}`, name);
    yield get(`${folder}/path/${name}?download`, `${name} to save`);
  }
  for (const kind of texts.HOSTILE_KINDS) {
    const text = encodeURIComponent(fitting(texts, kind, 12_000));
    yield get(`${folder}/path/${text}`, `${kind} as a path`);
    yield get(`${folder}?${text}`, `${kind} as a query`);
    yield {
      ...form(`${folder}/unlock`, `${kind} as a password`, `password=${text}&next=${text.slice(0, 3000)}`),
      route: 'POST /s/{token}/unlock',
    };
    yield { ...get(folder, `${kind} as a cookie`), headers: { cookie: `atelier_share=${text}` } };
  }
  for (const [name, body] of uploads(texts))
    yield {
      route: 'POST /s/{token}/upload',
      name,
      method: 'POST',
      path: `${upload}/upload`,
      headers: { 'content-type': 'multipart/form-data; boundary=XX' },
      body: () => body,
    };
}

function* uploads({ HOSTILE_KINDS, hostileText }) {
  const part = (name, content, more = '') =>
    `--XX\r\nContent-Disposition: form-data; name="files"; filename="${name}"\r\n${more}\r\n${content}\r\n`;
  yield ['many files', `${Array.from({ length: 20_000 }, (_, n) => part(`f${n}`, 'x')).join('')}--XX--\r\n`];
  yield [
    'many fields',
    `${'--XX\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n'.repeat(50_000)}--XX--\r\n`,
  ];
  yield ['nearly many ends', `${part('a', '\r\n--X'.repeat(2_000_000))}--XX--\r\n`];
  yield ['line ends', `${part('b', '\r\n'.repeat(4_000_000))}--XX--\r\n`];
  yield ['hyphens', `${part('c', '-'.repeat(8_000_000))}--XX--\r\n`];
  yield ['no part at all', '-'.repeat(8_000_000)];
  yield ['a head without an end', `--XX\r\n${'a: b\r\n'.repeat(500_000)}`];
  yield ['a long head', `--XX\r\nContent-Disposition: ${'a'.repeat(4_000_000)}\r\n\r\n`];
  for (const kind of HOSTILE_KINDS) {
    const text = hostileText(kind, 60_000).toWellFormed();
    yield [`${kind} as a name`, `${part(text, 'x')}--XX--\r\n`];
    yield [
      `${kind} as a type`,
      `${part('d', 'x', `Content-Type: ${text.replaceAll('\n', '').slice(0, 15_000)}\r\n`)}--XX--\r\n`,
    ];
  }
}
