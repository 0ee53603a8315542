import { BoundedSchema, readJson, SchemaFault } from '#libs/bounded-schema/index.js';
import { Invalid } from '../../platform/http/problem.js';
import type { RunFault } from './run.entity.js';

/** How often a model is told what is wrong with its answer before the run is given up. */
export const MOST_REPAIRS = 2;

/** Why a run ends whose answers did not become valid. */
export const schemaFailed = (faults: readonly string[]): RunFault => ({
  type: 'response_schema_failed',
  message: `The model did not give an answer that is valid against response_schema: ${faults.join('; ')}`,
});

/** What a run's answer must be: JSON that is valid against a schema. */
export class ResponseCheck {
  private constructor(
    readonly schema: Record<string, unknown>,
    private readonly compiled: BoundedSchema,
  ) {}

  /** That of a run; null where its sender asked for none. */
  static of(schema: Record<string, unknown> | null): ResponseCheck | null {
    return schema && new ResponseCheck(schema, BoundedSchema.compile(schema));
  }

  /** The JSON in an answer, or what is wrong with it. */
  read(
    text: string,
  ): { json: { value: unknown }; faults?: undefined } | { json?: undefined; faults: string[] } {
    const found = readJson(text);
    if ('fault' in found) return { faults: [`The answer is not JSON: ${found.fault}`] };
    const faults = this.compiled.faultsOf(found.value);
    return faults.length > 0 ? { faults } : { json: found };
  }

  /** What the model is told with its instructions. */
  get instructions(): string {
    return `When you are done, your last message must be one JSON value and nothing else — no other words, no code fence — that is valid against this JSON Schema:\n\n${JSON.stringify(this.schema)}`;
  }

  /** What the model is told of an answer that does not fit. */
  correction(text: string): string {
    const { faults = [] } = this.read(text);
    return `Your answer does not fit the JSON Schema:\n${faults.map(fault => `- ${fault}`).join('\n')}\n\nAnswer again with the corrected JSON value alone.`;
  }
}

/** Throws Invalid (422) for what cannot be used as a response schema. */
export function requireUsableSchema(schema: unknown): void {
  if (schema === undefined) return;
  try {
    BoundedSchema.compile(schema);
  } catch (error) {
    if (error instanceof SchemaFault) throw new Invalid(`response_schema ${error.message}`);
    throw error;
  }
}
