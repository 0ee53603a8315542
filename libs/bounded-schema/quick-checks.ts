import { BoundedSchema } from './bounded-schema.js';
import { isSmall } from './plain-schema.js';

/** Checks of small values by plain schemas, which need no thread. */
export class QuickChecks {
  private readonly known = new WeakMap<object, BoundedSchema | 'none'>();

  /** What is wrong with a value; undefined where to find out could take long. The schema is one that can be used. */
  faultsOf(schema: object, value: unknown): string[] | undefined {
    if (!isSmall(value)) return undefined;
    const known = this.known.get(schema) ?? BoundedSchema.ofPlain(schema) ?? 'none';
    this.known.set(schema, known);
    return known === 'none' ? undefined : known.faultsAtOnce(value);
  }
}
