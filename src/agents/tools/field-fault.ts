import { inputSchemaOf, type Shape } from '#libs/fields/index.js';
import { checked } from '../../platform/dto/index.js';
import { Invalid } from '../../platform/errors/index.js';
import type { ToolOffer } from './tool-provider.js';

/** So many of the names that are none are told. */
const MAX_UNKNOWN = 5;

/**
 * What is wrong with the names of the fields in an input, with those that there are. Fields that are not named are only told
 * where the tool says that it takes no others.
 */
export function fieldFault(
  { name, schema }: Pick<ToolOffer, 'name' | 'schema'>,
  input: unknown,
): string | undefined {
  if (typeof input !== 'object' || input === null) return undefined;
  const {
    properties = {},
    required = [],
    additionalProperties = true,
  } = schema as {
    properties?: object;
    required?: readonly string[];
    additionalProperties?: unknown;
  };
  const missing = required.filter(field => !Object.hasOwn(input, field));
  const others = Object.keys(input).filter(field => !Object.hasOwn(properties, field));
  const unknown = additionalProperties === false ? others : [];
  if (missing.length + unknown.length === 0) return undefined;
  const faults = [
    ...missing.map(field => `${field} is required`),
    ...unknown.slice(0, MAX_UNKNOWN).map(field => `${field.slice(0, 100)} is not a field of this request`),
  ];
  const fields = Object.keys(properties).map(field =>
    required.includes(field) ? `${field} (required)` : field,
  );
  return `${faults.join(', ')}; the fields of ${name} are ${fields.join(', ') || 'none'}`;
}

/** The input of the tool `name`, checked; throws Invalid, which names its fields where one is missing or unknown. */
export function inputOf<T extends object>(name: string, shape: abstract new () => T, input: unknown): T {
  const fault = fieldFault({ name, schema: inputSchemaOf(shape as Shape) }, input);
  if (fault) throw new Invalid(fault);
  return checked(shape as new () => T, input);
}
