import type { Row } from '../../platform/database/index.js';

/**
 * One call of a tool; its id is the model's own for it. planned: asked for by the model; started: may have happened;
 * finished: its result is known. It is marked as started before it happens, so that a crash never repeats it unawares.
 */
export type ToolCallRow = Row<'tool_call'>;
