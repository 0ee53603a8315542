import type {
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider';
import type { Row } from '../../platform/database/rows.js';
import type { MessagePart } from '../chats/message.entity.js';
import type { MessageRow } from '../chats/messages.store.js';
import type { Subagent } from '../subagents/subagent.js';
import type { ToolCall } from './tool-call.entity.js';

const ASSISTANT = `You are the assistant of an Atelier workspace, which people and agents share. Do the work that is asked
for with the tools you have, check what you did, and answer briefly, naming the files you changed. If something cannot be
done, say so plainly.`;

const NO_WORKSPACE = 'This chat has no workspace: there are no files and no sandbox.';

/** What a model is told of a call whose result is not known. */
export const INTERRUPTED =
  'Interrupted: the service stopped while this call was under way. It may or may not have taken effect; check before you repeat it.';

/** The instructions that come first. */
export function systemPrompt(agent: Subagent | null, hasWorkspace: boolean): string {
  const instructions = agent ? `You are the agent "${agent.name}".\n\n${agent.instructions}` : ASSISTANT;
  return hasWorkspace ? instructions : `${instructions}\n\n${NO_WORKSPACE}`;
}

/** The conversation as a model takes it: every tool call is followed by a result, whatever became of it. */
export function buildPrompt(system: string, rows: MessageRow[], runId: string): LanguageModelV4Prompt {
  return [{ role: 'system', content: system }, ...rows.flatMap(row => messagesOf(row, row.run_id === runId))];
}

function messagesOf(row: MessageRow, isCurrent: boolean): LanguageModelV4Message[] {
  if (row.role === 'user')
    return [{ role: 'user', content: row.content.filter(part => part.type === 'text') }];
  const content = isCurrent ? row.content : row.content.flatMap(withoutProviderState);
  if (content.length === 0) return [];
  const answer = { role: 'assistant', content } as LanguageModelV4Message;
  return row.calls.length === 0 ? [answer] : [answer, { role: 'tool', content: row.calls.map(resultOf) }];
}

/** Reasoning, and what providers sign, is bound to the model and the turn it was made in; earlier turns go without. */
function withoutProviderState(part: MessagePart): MessagePart[] {
  if (part.type !== 'text' && part.type !== 'tool-call') return [];
  const { providerOptions: _, ...plain } = part;
  return [plain];
}

function resultOf({ call_id, tool, output, is_error, state }: Row<ToolCall>): LanguageModelV4ToolResultPart {
  const value = state === 'finished' ? (output ?? '') : INTERRUPTED;
  const type = is_error || state !== 'finished' ? 'error-text' : 'text';
  return { type: 'tool-result', toolCallId: call_id, toolName: tool, output: { type, value } };
}
