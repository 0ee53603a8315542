/** What a field holds. */
export type Kind =
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

export function register(target: object, name: string, spec: FieldSpec): void {
  const inherited = Reflect.getMetadata(SPECS, target.constructor) as Map<string, FieldSpec> | undefined;
  Reflect.defineMetadata(SPECS, new Map(inherited).set(name, spec), target.constructor);
}
