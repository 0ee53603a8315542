import { type ValidationError, validateSync } from 'class-validator';
import { isExactNumber, toDouble } from '#libs/exact-json/index.js';
import { type FieldSpec, fieldsOf, nullMeansAbsent, type Shape } from './field.js';

/** What came is not what its shape says; the message names the field and says what it takes. */
export class InvalidInput extends Error {
  /** `field` is the path of what its rules refuse; undefined where it did not come to its rules. */
  constructor(
    message: string,
    readonly field?: string,
  ) {
    super(message);
  }
}

/** What is wrong with an instance by the rules of its class, at most one thing for each property. */
function faultsOf(instance: object): ValidationError[] {
  return validateSync(instance, { stopAtFirstError: true, forbidUnknownValues: false });
}

const MAX_JSON_DEPTH = 64;

/** Makes a checked instance of `shape` of untrusted JSON. Throws {@link InvalidInput} with the first finding. */
export function parseInput(shape: Shape, plain: unknown): object {
  const instance = hydrate(shape, plain);
  const errors = faultsOf(instance);
  if (errors.length === 0) return instance;
  const { field, text } = firstMessage(errors);
  throw new InvalidInput(text, field);
}

/**
 * Makes an instance of `shape` of untrusted JSON: known fields only, nested shapes too, nothing else touched. Null leaves
 * an optional field out, as models and typed clients mean it, unless null is one of its values.
 */
function hydrate(shape: Shape, plain: unknown, path = ''): object {
  if (typeof plain !== 'object' || plain === null || Array.isArray(plain) || isExactNumber(plain))
    throw new InvalidInput(`${path ? path.slice(0, -1) : 'The body'} must be a JSON object`);
  const fields = fieldsOf(shape);
  const instance = Object.create(shape.prototype) as Record<string, unknown>;
  for (const [name, value] of Object.entries(plain)) {
    const spec = fields.get(name);
    if (!spec) throw new InvalidInput(unknownField(path, name, fields));
    if (value !== null || !nullMeansAbsent(spec))
      instance[name] = hydrateField(spec, value, `${path}${name}`);
  }
  for (const [name, spec] of fields)
    if (instance[name] === undefined && isRequired(spec))
      throw new InvalidInput(`${path}${name} is required`, `${path}${name}`);
  return instance;
}

/** Any JSON value may be none. */
const isRequired = ({ kind, optional }: FieldSpec): boolean => !optional && kind !== 'json';

/** Within another field, with what there is: no documentation of the request lists it at a glance. */
function unknownField(path: string, name: string, fields: ReadonlyMap<string, unknown>): string {
  const fault = `${path}${name.slice(0, 100)} is not a field of this request`;
  return path === ''
    ? fault
    : `${fault}; the fields of ${path.slice(0, -1)} are ${[...fields.keys()].join(', ')}`;
}

function hydrateField(spec: FieldSpec, given: unknown, path: string): unknown {
  // Rules of numbers, texts and objects know no others; what is kept as it came keeps its digits.
  const value = spec.kind === 'json' ? given : doubles(given);
  // Before its items are looked at, each of which costs something.
  if (spec.list && Array.isArray(value) && value.length > spec.maxItems)
    throw new InvalidInput(`${path} must contain no more than ${spec.maxItems} elements`);
  if (spec.kind === 'json' || spec.kind === 'record') return shallowEnough(value, path);
  const { shape } = spec;
  if (!shape || value === undefined || (value === null && spec.nullable)) return value;
  if (!spec.list) return hydrate(shape(), value, `${path}.`);
  if (!Array.isArray(value)) throw new InvalidInput(`${path} must be a list`);
  return value.map((item, index) => hydrate(shape(), item, `${path}[${index}].`));
}

const doubles = (value: unknown): unknown => (Array.isArray(value) ? value.map(toDouble) : toDouble(value));

function shallowEnough(value: unknown, path: string): unknown {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_JSON_DEPTH) throw new InvalidInput(`${path} is nested more than ${MAX_JSON_DEPTH} deep`);
    level = level.flatMap(item => (typeof item === 'object' && item !== null ? Object.values(item) : []));
  }
  return value;
}

/** The first thing wrong, as one sentence that begins with the field's path. */
function firstMessage([error]: ValidationError[], path = ''): { field: string; text: string } {
  if (!error) return { field: '', text: 'The request is not valid' };
  const [text] = Object.values(error.constraints ?? {});
  if (text) return { field: path + error.property, text: path + text };
  const isItem = /^\d+$/.test(error.property);
  const here = isItem ? `${path.slice(0, -1)}[${error.property}].` : `${path}${error.property}.`;
  return firstMessage(error.children ?? [], here);
}

/** Query values are text; those of number and boolean fields become what they say. */
export function coerce(spec: FieldSpec | undefined, value: unknown): unknown {
  if (spec?.list && !Array.isArray(value)) return [coerce({ ...spec, list: false }, value)];
  if (typeof value !== 'string' || !spec) return value;
  if ((spec.kind === 'integer' || spec.kind === 'number') && /^-?\d+(\.\d+)?$/.test(value))
    return Number(value);
  if (spec.kind === 'boolean' && /^(true|false|1|0)$/.test(value)) return value === 'true' || value === '1';
  return value;
}
