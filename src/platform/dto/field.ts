import { ApiProperty, ApiPropertyOptions } from '@nestjs/swagger';
import * as check from 'class-validator';
import { type Kind, register, type Shape } from './field-spec.js';
import { sampleIdOf } from './sample-ids.js';
import { HasCharacters, IsMailAddress, IsStorableText } from './text-checks.js';

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

/** What is particular to a kind of field. */
interface Rules {
  checks: PropertyDecorator[];
  schema: object;
  values?: readonly string[];
  shape?: () => Shape;
}

/** One decorator a field: registers it, validates it (class-validator) and documents it (OpenAPI). */
function field(
  kind: Kind,
  description: string,
  options: Common,
  { checks, schema, values, shape }: Rules,
): PropertyDecorator {
  const { optional = false, nullable = false, list = false, maxItems = 100 } = options;
  const required: ApiPropertyOptions = { description, required: !optional, nullable } as ApiPropertyOptions;
  const extras = (example: unknown) =>
    Object.fromEntries(
      Object.entries({ example, default: options.default, isArray: list || undefined }).filter(
        ([, value]) => value !== undefined,
      ),
    );
  const decorators = [
    ...checks,
    ...(list ? [check.IsArray({ message: '$property must be a list' }), check.ArrayMaxSize(maxItems)] : []),
    ...(optional
      ? [check.ValidateIf((_, value) => value !== undefined && !(nullable && value === null))]
      : []),
    ...(nullable && !optional ? [check.ValidateIf((_, value) => value !== null)] : []),
  ];
  return (target, name) => {
    const { type: _class, enum: _values, ...bounds } = schema as Record<string, unknown>;
    const sampleId = list ? [sampleIdOf(String(name))] : sampleIdOf(String(name));
    const example = options.example ?? (kind === 'id' ? sampleId : undefined);
    register(target, String(name), {
      kind,
      description,
      optional,
      nullable,
      list,
      maxItems,
      secret: options.secret ?? bounds.format === 'password',
      values,
      shape,
      schema: bounds,
      example,
      shown: options.shown ?? !optional,
    });
    ApiProperty({ ...required, ...schema, ...extras(example) } as ApiPropertyOptions)(target, name);
    for (const decorate of decorators) decorate(target, name);
  };
}

const SAMPLE_TIME = '2026-11-21T09:30:00.000Z';
const each = (options: Common) => ({ each: options.list === true });
const message = (text: string, options: Common) => ({ ...each(options), message: `$property ${text}` });

const bounded = (options: NumberOptions, lowest: number, highest: number): PropertyDecorator[] => {
  const { min = lowest, max = highest } = options;
  return [
    check.Min(min, message(`must be at least ${min}`, options)),
    check.Max(max, message(`must be at most ${max}`, options)),
  ];
};

/** The fields that shapes are made of. Each names what it means; the rest is in its options. */
export const Field = {
  id: (description: string, options: Common = {}) =>
    field('id', description, options, {
      checks: [check.IsUUID('all', message('must be a UUID', options))],
      schema: { type: String, format: 'uuid' },
    }),

  text: (description: string, options: TextOptions = {}) => {
    const { min = 0, max = 10_000, pattern, patternHint, format } = options;
    const checks = [
      check.IsString(message('must be text', options)),
      IsStorableText(each(options)),
      HasCharacters(min, max, each(options)),
    ];
    if (pattern)
      checks.push(check.Matches(pattern, message(patternHint ?? `must match ${pattern}`, options)));
    if (format === 'email') checks.push(IsMailAddress(each(options)));
    const schema = {
      type: String,
      minLength: min || undefined,
      maxLength: max,
      pattern: pattern?.source,
      format,
    };
    return field('text', description, options, { checks, schema });
  },

  integer: (description: string, options: NumberOptions = {}) => {
    const checks = [
      check.IsInt(message('must be a whole number', options)),
      ...bounded(options, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
    ];
    return field('integer', description, options, {
      checks,
      schema: { type: 'integer', minimum: options.min, maximum: options.max },
    });
  },

  number: (description: string, options: NumberOptions = {}) => {
    const checks = [
      check.IsNumber({ allowInfinity: false, allowNaN: false }, message('must be a number', options)),
      ...bounded(options, -Number.MAX_VALUE, Number.MAX_VALUE),
    ];
    return field('number', description, options, {
      checks,
      schema: { type: Number, minimum: options.min, maximum: options.max },
    });
  },

  boolean: (description: string, options: Common = {}) =>
    field(
      'boolean',
      description,
      { example: true, ...options },
      {
        checks: [check.IsBoolean(message('must be true or false', options))],
        schema: { type: Boolean },
      },
    ),

  time: (description: string, options: Common = {}) =>
    field(
      'time',
      description,
      { example: SAMPLE_TIME, ...options },
      {
        checks: [check.IsISO8601({ strict: true }, message('must be an ISO 8601 time', options))],
        schema: { type: String, format: 'date-time' },
      },
    ),

  choice: (description: string, values: readonly string[], options: Common = {}) =>
    field(
      'choice',
      description,
      { example: options.list ? [values[0]] : values[0], ...options },
      {
        checks: [check.IsIn([...values], message(`must be one of ${values.join(', ')}`, options))],
        schema: { enum: [...values], type: String },
        values,
      },
    ),

  /** Any JSON value, kept as it came. */
  json: (description: string, options: Common = {}) =>
    field(
      'json',
      description,
      { example: {}, ...options },
      {
        checks: [check.Allow()],
        schema: { type: Object, additionalProperties: true },
      },
    ),

  /** Any JSON object, kept as it came. */
  record: (description: string, options: Common = {}) =>
    field(
      'record',
      description,
      { example: {}, ...options },
      {
        checks: [check.IsObject(each(options))],
        schema: { type: Object, additionalProperties: true },
      },
    ),

  object: (description: string, shape: () => Shape, options: Common = {}) =>
    field('object', description, options, {
      checks: [check.ValidateNested(each(options))],
      schema: { type: () => shape() as new () => object },
      shape,
    }),
};
