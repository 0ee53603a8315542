import { ApiProperty, ApiPropertyOptions } from '@nestjs/swagger';
import * as check from 'class-validator';
import { isMailAddress } from './mail-address.js';

const SAMPLE_TIME = '2026-11-21T09:30:00.000Z';

/** What a field holds. */
type Kind =
  | 'text'
  | 'integer'
  | 'number'
  | 'boolean'
  | 'id'
  | 'time'
  | 'choice'
  | 'json'
  | 'record'
  | 'object';
export type Shape = abstract new () => object;

/** All that is known of one field of a shape: enough to validate, document and coerce it. */
export interface FieldSpec {
  readonly kind: Kind;
  readonly description: string;
  readonly optional: boolean;
  readonly nullable: boolean;
  readonly list: boolean;
  /** Of a list. */
  readonly maxItems: number;
  /** Never shown where others than its owner read: records of what was done leave it out. */
  readonly secret: boolean;
  readonly values?: readonly string[];
  readonly shape?: () => Shape;
  /** The rest of its JSON Schema: bounds, format, pattern. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** A value that it may have. */
  readonly example?: unknown;
  /** Whether the example of a request has it although it may be left out. */
  readonly shown: boolean;
}

/** Whether null for it is the same as leaving it out. Of a nullable field it is a value. */
export const nullMeansAbsent = ({ optional, nullable }: FieldSpec): boolean => optional && !nullable;

const SPECS = Symbol('fields');

/** The fields of a shape, inherited ones included, by name. */
export function fieldsOf(shape: Shape): ReadonlyMap<string, FieldSpec> {
  return Reflect.getMetadata(SPECS, shape) ?? new Map();
}

function register(target: object, name: string, spec: FieldSpec): void {
  const inherited = Reflect.getMetadata(SPECS, target.constructor) as Map<string, FieldSpec> | undefined;
  Reflect.defineMetadata(SPECS, new Map(inherited).set(name, spec), target.constructor);
}

interface Common {
  /** The caller may leave it out; null says the same, unless it is `nullable`. */
  optional?: boolean;
  /** Null is a value of it: in what changes something, the one that clears it. */
  nullable?: boolean;
  /** An array of it; at most `maxItems` (100). */
  list?: boolean;
  maxItems?: number;
  example?: unknown;
  /** An optional field that the example of its request has all the same. */
  shown?: true;
  default?: unknown;
  /** A password, a token, a key: left out of every record. */
  secret?: boolean;
}
interface TextOptions extends Common {
  min?: number;
  max?: number;
  pattern?: RegExp;
  /** What `pattern` asks for, in words: it is what the caller reads. */
  patternHint?: string;
  format?: 'email' | 'uri' | 'password';
}
interface NumberOptions extends Common {
  min?: number;
  max?: number;
}

const each = (options: Common) => ({ each: options.list === true });
const message = (text: string, options: Common) => ({ ...each(options), message: `$property ${text}` });

const rule = (name: string, text: string, validate: (value: unknown) => boolean, options: Common) =>
  check.ValidateBy({ name, validator: { validate } }, message(text, options));

/** What PostgreSQL's text type can hold and every encoder can write: no NUL, no lone surrogates. */
const isStorable = (value: unknown): boolean =>
  typeof value !== 'string' || (value.isWellFormed() && !value.includes('\0'));

/**
 * Whether a text has `min` to `max` characters (code points). Looks at no more of it than it takes: it may have millions,
 * whether that is allowed or not.
 */
function hasCharacters(text: string, min: number, max: number): boolean {
  if (text.length < min || text.length > 2 * max) return false;
  if (text.length >= 2 * min && text.length <= max) return true;
  let characters = text.length;
  for (let at = 1; at < text.length; at++) {
    const isLow = (text.charCodeAt(at) & 0xfc00) === 0xdc00;
    if (isLow && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800) characters--;
  }
  return characters >= min && characters <= max;
}

/** One decorator a field: registers it, validates it (class-validator) and documents it (OpenAPI). */
function field(
  kind: Kind,
  description: string,
  options: Common,
  schema: { type?: unknown; enum?: string[]; format?: string; [keyword: string]: unknown },
  checks: PropertyDecorator[],
  { shape, exampleId }: { shape?: () => Shape; exampleId?: (name: string) => string } = {},
): PropertyDecorator {
  const { optional = false, nullable = false, list = false, maxItems = 100 } = options;
  const { type: _class, enum: values, ...bounds } = schema;
  const decorators = [
    ...checks,
    ...(list ? [check.IsArray({ message: '$property must be a list' }), check.ArrayMaxSize(maxItems)] : []),
    ...(optional || nullable
      ? [check.ValidateIf((_, value) => !(optional && value === undefined) && !(nullable && value === null))]
      : []),
  ];
  return (target, key) => {
    const name = String(key);
    const id = exampleId?.(name);
    const example = options.example ?? (list && id ? [id] : id);
    const secret = options.secret ?? bounds.format === 'password';
    const shown = options.shown ?? !optional;
    const spec = { kind, description, optional, nullable, list, maxItems, secret, shown };
    register(target, name, { ...spec, values, shape, schema: bounds, example });
    const extras = Object.entries({ example, default: options.default, isArray: list || undefined });
    const documented = { description, required: !optional, nullable, ...schema };
    ApiProperty({
      ...documented,
      ...Object.fromEntries(extras.filter(([, value]) => value !== undefined)),
    } as ApiPropertyOptions)(target, key);
    for (const decorate of decorators) decorate(target, key);
  };
}

const bounded = (options: NumberOptions, lowest: number, highest: number): PropertyDecorator[] => {
  const { min = lowest, max = highest } = options;
  return [
    check.Min(min, message(`must be at least ${min}`, options)),
    check.Max(max, message(`must be at most ${max}`, options)),
  ];
};

const ANY_OBJECT = { type: Object, additionalProperties: true };

/**
 * The fields that shapes are made of. Each names what it means; the rest is in its options. `exampleId` says which id the
 * examples of a field show, by the field's name.
 */
export const fieldsWith = (exampleId: (name: string) => string) => ({
  id: (description: string, options: Common = {}) =>
    field(
      'id',
      description,
      options,
      { type: String, format: 'uuid' },
      [check.IsUUID('all', message('must be a UUID', options))],
      { exampleId },
    ),

  text: (description: string, options: TextOptions = {}) => {
    const { min = 0, max = 10_000, pattern, patternHint, format } = options;
    const checks = [
      check.IsString(message('must be text', options)),
      rule('isStorableText', 'must be well-formed text without NUL characters', isStorable, options),
      rule(
        'hasCharacters',
        `must have ${min > 0 ? `${min} to ${max}` : `at most ${max}`} characters`,
        value => typeof value === 'string' && hasCharacters(value, min, max),
        options,
      ),
    ];
    if (pattern)
      checks.push(check.Matches(pattern, message(patternHint ?? `must match ${pattern}`, options)));
    if (format === 'email')
      checks.push(rule('isMailAddress', 'must be an e-mail address', isMailAddress, options));
    const bounds = { minLength: min || undefined, maxLength: max, pattern: pattern?.source, format };
    return field('text', description, options, { type: String, ...bounds }, checks);
  },

  integer: (description: string, options: NumberOptions = {}) =>
    field('integer', description, options, { type: 'integer', minimum: options.min, maximum: options.max }, [
      check.IsInt(message('must be a whole number', options)),
      ...bounded(options, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
    ]),

  number: (description: string, options: NumberOptions = {}) =>
    field('number', description, options, { type: Number, minimum: options.min, maximum: options.max }, [
      check.IsNumber({ allowInfinity: false, allowNaN: false }, message('must be a number', options)),
      ...bounded(options, -Number.MAX_VALUE, Number.MAX_VALUE),
    ]),

  boolean: (description: string, options: Common = {}) =>
    field('boolean', description, { example: true, ...options }, { type: Boolean }, [
      check.IsBoolean(message('must be true or false', options)),
    ]),

  time: (description: string, options: Common = {}) =>
    field('time', description, { example: SAMPLE_TIME, ...options }, { type: String, format: 'date-time' }, [
      check.IsISO8601({ strict: true }, message('must be an ISO 8601 time', options)),
    ]),

  choice: (description: string, values: readonly string[], options: Common = {}) => {
    const example = options.list ? [values[0]] : values[0];
    return field('choice', description, { example, ...options }, { enum: [...values], type: String }, [
      check.IsIn([...values], message(`must be one of ${values.join(', ')}`, options)),
    ]);
  },

  /** Any JSON value, kept as it came. */
  json: (description: string, options: Common = {}) =>
    field('json', description, { example: {}, ...options }, ANY_OBJECT, [check.Allow()]),

  /** Any JSON object, kept as it came. */
  record: (description: string, options: Common = {}) =>
    field('record', description, { example: {}, ...options }, ANY_OBJECT, [check.IsObject(each(options))]),

  object: (description: string, shape: () => Shape, options: Common = {}) =>
    field(
      'object',
      description,
      options,
      { type: () => shape() as new () => object },
      [check.ValidateNested(each(options))],
      { shape },
    ),
});
