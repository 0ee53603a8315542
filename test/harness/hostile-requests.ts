/** Handed over rather than imported: the bench, which nothing compiles, reads this file too. */
type Texts = typeof import('./hostile-texts.js');

// biome-ignore lint/suspicious/noExplicitAny: a description of an interface is looked at freely
type Json = any;

export interface HostileRequest {
  /** Of which the largest gap is shown. */
  readonly route: string;
  /** What is hostile about it. */
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body?: () => string;
}

const MIB = 1024 * 1024;
/** A JSON body may have 16 MiB, what belongs to it besides the hostile field included. */
const MAX_BODY_BYTES = 16 * MIB - 64 * 1024;
/** Node takes 16 KiB for the address and all headers. */
const MAX_ADDRESS_BYTES = 12_000;
const MAX_SEGMENT_BYTES = 3000;
const MAX_ITEMS = 100;
const OTHER_ID = '0192f3a1-7c1e-7d4a-9b7e-00000000ffff';
const JSON_TYPE = { 'content-type': 'application/json' };

const inJson = (text: string) => Buffer.byteLength(JSON.stringify(text));
const inAddress = (text: string) => encodeURIComponent(text.toWellFormed()).length;

/** Headers that each caller may send, whatever the route. */
const HEADERS: Readonly<Record<string, Record<string, string>>> = {
  'a cookie of many pairs': { cookie: 'a=b; '.repeat(2800) },
  'a cookie of spaces': { cookie: `a=${' '.repeat(13_000)}!` },
  'many addresses before it': { 'x-forwarded-for': '1.1.1.1,'.repeat(1600) },
  'many ranges': { range: `bytes=${'0-1,'.repeat(3200)}` },
  'many digits of a range': { range: `bytes=${'1'.repeat(13_000)}-` },
  'many versions': { 'if-none-match': '"a",'.repeat(3200), 'if-match': '"a" , ' },
  'a long key': { 'idempotency-key': 'k'.repeat(13_000) },
  'many types': { accept: 'text/html;q=0.1,'.repeat(800), 'accept-encoding': 'gzip;q=0,' },
  'a type of parameters': { 'content-type': `application/json;${' a=b;'.repeat(2600)}` },
  'a boundary': { 'content-type': `multipart/form-data; boundary=${'-'.repeat(12_000)}` },
  'a long request id': { 'x-request-id': 'a-'.repeat(6000) },
  'a token of dots': { authorization: `Bearer ${'a.'.repeat(6000)}` },
  'a token of three parts': { authorization: `Bearer ${'e30'.repeat(1300)}.${'e30'.repeat(1300)}.x` },
  'spaces before a token': { authorization: `Bearer ${' '.repeat(12_000)}a` },
  'many headers': Object.fromEntries(Array.from({ length: 1500 }, (_, n) => [`x${n}`, ''])),
};

/** What may be asked of routes that are hard on the caller: nothing that is there. */
const ENDS_THE_WALK =
  /^(DELETE |POST .*(\/leave|\/transfer|\/logout|\/rollback|\/revoke|\/rotate)$|POST \/api\/auth\/(password|email)$)/;

/** Every request of a walk over the routes that a description has; `ids` are those of things that there are. */
export function* hostileRequests(
  document: Json,
  ids: Readonly<Record<string, string>>,
  texts: Texts,
  kinds: readonly string[] = texts.HOSTILE_KINDS,
): Generator<HostileRequest> {
  for (const [path, item] of Object.entries<Json>(document.paths))
    for (const [verb, operation] of Object.entries<Json>(item)) {
      const name = `${verb.toUpperCase()} ${path}`;
      const known = ENDS_THE_WALK.test(name) ? {} : ids;
      yield* new Route(document, verb.toUpperCase(), path, operation, known, texts, kinds).requests();
    }
}

class Route {
  private readonly name: string;
  private readonly query: Json[];
  private readonly schema: Json;
  private readonly sample: Json;
  private readonly document: Json;
  private readonly method: string;
  private readonly path: string;
  private readonly ids: Readonly<Record<string, string>>;
  private readonly texts: Texts;
  private readonly kinds: readonly string[];

  constructor(
    document: Json,
    method: string,
    path: string,
    operation: Json,
    ids: Readonly<Record<string, string>>,
    texts: Texts,
    kinds: readonly string[],
  ) {
    this.document = document;
    this.method = method;
    this.path = path;
    this.ids = ids;
    this.texts = texts;
    this.kinds = kinds;
    this.name = `${method} ${path}`;
    this.query = (operation.parameters ?? [])
      .map((parameter: Json) => this.resolved(parameter))
      .filter((parameter: Json) => parameter.in === 'query');
    const content = operation.requestBody?.content?.['application/json'];
    this.schema = content && this.resolved(content.schema);
    this.sample = content && this.withIds(content.examples.minimal.value);
  }

  *requests(): Generator<HostileRequest> {
    for (const [name, headers] of Object.entries(HEADERS))
      yield this.request(name, { headers: { ...JSON_TYPE, ...headers }, body: this.sample });
    yield* this.ofAddress();
    if (this.schema) yield* this.ofBody();
  }

  private *ofAddress(): Generator<HostileRequest> {
    const parameters = [...this.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
    for (const kind of this.kinds) {
      for (const name of parameters) {
        const text = this.texts.fittingText(kind, 950, MAX_SEGMENT_BYTES, inAddress);
        yield this.request(`${kind} as ${name}`, { path: { [name]: text }, body: this.sample });
      }
      for (const { name, schema } of this.query) {
        const text = this.texts.fittingText(kind, schema.maxLength ?? 1e9, MAX_ADDRESS_BYTES, inAddress);
        yield this.request(`${kind} as ${name}`, { query: { [name]: text }, body: this.sample });
      }
    }
    const names = Array.from({ length: 3000 }, (_, n) => `a${n}=`)
      .join('&')
      .slice(0, MAX_ADDRESS_BYTES);
    yield this.request('many names in the query', { rawQuery: names, body: this.sample });
    yield this.request('one name often in the query', {
      rawQuery: `${this.query[0]?.name ?? 'a'}=1&`.repeat(1000).slice(0, MAX_ADDRESS_BYTES),
      body: this.sample,
    });
  }

  private *ofBody(): Generator<HostileRequest> {
    for (const [field, given] of Object.entries<Json>(this.schema.properties)) {
      const schema = this.resolved(given);
      for (const [name, value] of this.valuesOf(schema))
        yield this.request(`${name} as ${field}`, { body: () => ({ ...this.sample, [field]: value() }) });
      if (!schema.properties) continue;
      for (const [inner, nested] of Object.entries<Json>(schema.properties))
        for (const [name, value] of this.valuesOf(this.resolved(nested)))
          yield this.request(`${name} as ${field}.${inner}`, {
            body: () => ({ ...this.sample, [field]: { [inner]: value() } }),
          });
    }
  }

  /** Values for a field, as large as a body may be where it has no bound of its own. */
  private *valuesOf(schema: Json): Generator<[string, () => unknown]> {
    if (schema.type === 'object' && !schema.properties) {
      yield* Object.entries(this.texts.HOSTILE_OBJECTS);
      yield* Object.entries(this.texts.HOSTILE_SCHEMAS);
      return;
    }
    if (schema.type === 'array') {
      const { maxLength = 300 } = this.resolved(schema.items);
      const bytes = MAX_BODY_BYTES / MAX_ITEMS;
      for (const kind of this.kinds)
        yield [
          `${MAX_ITEMS} times ${kind}`,
          () => {
            const text = this.texts.fittingText(kind, maxLength, bytes, inJson);
            return Array.from({ length: MAX_ITEMS }, (_, n) => `${n}${text}`.slice(0, maxLength));
          },
        ];
      yield ['90,000 items', () => Array.from({ length: 90_000 }, (_, n) => `${n}`)];
      return;
    }
    if (schema.type !== 'string') {
      yield ['a list', () => Array.from({ length: 90_000 }, () => 0)];
      yield ['a long text', () => this.texts.hostileText('digits', MAX_BODY_BYTES)];
      return;
    }
    const isBounded = schema.maxLength <= 10_000 || schema.format || schema.enum;
    const most = schema.format || schema.enum ? 10_000 : (schema.maxLength ?? 10_000);
    for (const kind of this.kinds)
      yield [kind, () => this.texts.fittingText(kind, most, MAX_BODY_BYTES, inJson)];
    if (isBounded) yield ['far too many letters', () => this.texts.hostileText('letters', MAX_BODY_BYTES)];
    yield ['an object', this.texts.HOSTILE_OBJECTS['many keys'] as () => object];
  }

  private request(
    name: string,
    given: {
      headers?: Record<string, string>;
      path?: Record<string, string>;
      query?: Record<string, string>;
      rawQuery?: string;
      body?: Json | (() => Json);
    },
  ): HostileRequest {
    const { headers = JSON_TYPE, path = {}, query = {}, rawQuery, body } = given;
    const filled = this.path.replace(/\{(\w+)\}/g, (_, parameter) =>
      encodeURIComponent((path[parameter] ?? this.idOf(parameter)).toWellFormed()),
    );
    const required = this.query.filter(parameter => parameter.required);
    const asked = {
      ...Object.fromEntries(
        required.map(({ name: field, schema }) => [field, this.ids[field] ?? schema.example ?? 'a']),
      ),
      ...query,
    };
    const pairs = Object.entries<string>(asked).map(
      ([field, value]) => `${field}=${encodeURIComponent(String(value).toWellFormed())}`,
    );
    const search = [...pairs, ...(rawQuery ? [rawQuery] : [])].join('&');
    return {
      route: this.name,
      name,
      method: this.method,
      path: search ? `${filled}?${search}` : filled,
      headers: body === undefined ? dropType(headers) : headers,
      body: body === undefined ? undefined : () => JSON.stringify(typeof body === 'function' ? body() : body),
    };
  }

  /** `{id}` is an id of the collection whose name stands before it. */
  private idOf(parameter: string): string {
    const collection = this.path.split(`/{${parameter}}`)[0]?.split('/').at(-1) ?? '';
    return this.ids[parameter] ?? this.ids[collection] ?? OTHER_ID;
  }

  private withIds(sample: Json): Json {
    return Object.fromEntries(Object.entries(sample).map(([name, value]) => [name, this.ids[name] ?? value]));
  }

  private resolved(schema: Json): Json {
    const reference = schema.$ref ?? schema.allOf?.[0]?.$ref;
    const [, , kind, name] = reference?.split('/') ?? [];
    return reference ? this.document.components[kind][name] : schema;
  }
}

/** A GET has no body, and so no type of one. */
const dropType = ({ 'content-type': _, ...headers }: Record<string, string>) => headers;
