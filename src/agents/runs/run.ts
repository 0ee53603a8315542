import type { Actor } from '../../platform/access/index.js';
import type { Row } from '../../platform/database/index.js';
import type { RunBudget } from './run-limits.js';

/** How a message reaches its chat while a run is in flight there. */
export type Delivery = 'queue' | 'reject' | 'steer' | 'interrupt';
/** What becomes of a run whose call needs a person's approval. */
export type OnApproval = 'wait' | 'fail' | 'refuse';

/** Tokens of a run or a step; null where a provider does not say. */
export interface Usage {
  input_tokens: number | null;
  output_tokens: number | null;
  cache_read_tokens: number | null;
  cache_write_tokens: number | null;
  reasoning_tokens: number | null;
}

/** Why a run ended in failure, for people and for programs. */
export interface RunFault {
  message: string;
  type: string;
}

export const NO_USAGE: Usage = {
  input_tokens: null,
  output_tokens: null,
  cache_read_tokens: null,
  cache_write_tokens: null,
  reasoning_tokens: null,
};

/** One answer of an agent to one message: model calls and tool calls until it is done. */
export type RunRow = Row<'run'>;

declare global {
  interface ColumnTypes {
    /** On whose authority its tools act, checked again at every call. */
    'run.actor': Actor;
    'run.error': RunFault;
    /** What its answer must be valid against, a JSON Schema. */
    'run.response_schema': Record<string, unknown>;
    /** The answer that is valid against it, in an object of its own as it may be null. */
    'run.response_json': { value: unknown };
    'run.usage': Usage;
    'run_step.usage': Usage;
    /** What it may use, as its sender set it. */
    'run.budget': RunBudget;
    /** The allowlists of those above it, each of which must allow what it calls. */
    'run.tools_above': readonly (readonly string[])[];
  }
}
