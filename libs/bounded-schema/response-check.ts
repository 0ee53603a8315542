import { parseJson } from '#libs/exact-json/index.js';
import type { SchemaText } from './schema-task.js';

/** What was asked for, or why it is not that. */
export type SchemaReading =
  | { readonly json: { readonly value: unknown }; readonly faults?: undefined }
  | { readonly json?: undefined; readonly faults: string[] };

/** What a model's answer must be: JSON that is valid against a schema. */
export class ResponseCheck {
  /** Answers that were read, so none is read twice. */
  private readonly known = new Map<string, SchemaReading>();

  constructor(
    readonly schema: Record<string, unknown>,
    private readonly readNow: (text: string) => Promise<SchemaText>,
  ) {}

  /** The JSON in an answer, or what is wrong with it. */
  async read(text: string): Promise<SchemaReading> {
    const known = this.known.get(text);
    if (known) return known;
    const { json, faults = [] } = await this.readNow(text);
    const reading = json === undefined ? { faults } : { json: { value: parseJson(json) } };
    this.known.set(text, reading);
    return reading;
  }

  /** Part of the model's instructions. */
  get instructions(): string {
    return `When you are done, your last message must be one JSON value and nothing else — no other words, no code fence — that is valid against this JSON Schema:\n\n${JSON.stringify(this.schema)}`;
  }

  /** The message that follows an answer that does not fit, which was read before. */
  correction(text: string): string {
    const { faults = [] } = this.known.get(text) ?? {};
    return `Your answer does not fit the JSON Schema:\n${faults.map(fault => `- ${fault}`).join('\n')}\n\nAnswer again with the corrected JSON value alone.`;
  }
}
