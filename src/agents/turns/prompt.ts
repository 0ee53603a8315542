import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider';
import { placeholderOf } from '../attachments/index.js';
import type { MessagePart, Said, SaidCall } from '../chats/index.js';
import { type AgentGuide, instructionsOf } from '../subagents/index.js';

const NO_WORKSPACE = 'This chat has no workspace: there are no files and no sandbox.';

/** What a model is told of a call whose result is not known. */
export const INTERRUPTED =
  'Interrupted: the service stopped while this call was under way. It may or may not have taken effect; check before you repeat it. The sandbox of commands begins anew.';

/** The instructions that come first. */
export function systemPrompt(guide: AgentGuide, hasWorkspace: boolean): string {
  const instructions = instructionsOf(guide);
  return hasWorkspace ? instructions : `${instructions}\n\n${NO_WORKSPACE}`;
}

/** The conversation as a model takes it: every tool call is followed by a result, whatever became of it. */
export function buildPrompt(system: string, rows: readonly Said[], reader: Reader): LanguageModelV4Prompt {
  const messages = rows.flatMap((row, index) => [
    ...messagesOf(row, reader),
    ...correctionOf(row, rows[index + 1], reader),
  ]);
  return [{ role: 'system', content: system }, ...messages];
}

/** For which run, and for which model, a prompt is. */
export interface Reader {
  runId: string;
  model: string;
  /** What a model is told of an answer of this run that was not accepted. */
  correction?: (text: string) => string;
}

const CORRECTED = 'That was not the JSON that was asked for. Answer again.';

/** An answer after which its run went on without tools, or anything said, was not accepted: the model was told why. */
function correctionOf(
  { role, run_id, calls, content }: Said,
  next: Said | undefined,
  { runId, correction }: Reader,
): LanguageModelV4Message[] {
  if (role !== 'assistant' || calls.length > 0) return [];
  const isRefused = next ? next.role === 'assistant' && next.run_id === run_id : run_id === runId;
  if (!isRefused) return [];
  const text = run_id === runId && correction ? correction(textOf({ content })) : CORRECTED;
  return [{ role: 'user', content: [{ type: 'text', text }] }];
}

/** What was said, as text. */
export const textOf = ({ content }: Pick<Said, 'content'>): string =>
  content.map(part => (part.type === 'text' ? part.text : '')).join('');

/** A row as messages of a prompt. */
export function messagesOf(row: Said, reader: Reader): LanguageModelV4Message[] {
  if (row.role !== 'assistant') return [{ role: 'user', content: row.content.flatMap(sentPart) }];
  const content = isOwn(row, reader) ? row.content : row.content.flatMap(withoutProviderState);
  if (content.length === 0) return [];
  const answer = { role: 'assistant', content } as LanguageModelV4Message;
  return row.calls.length === 0 ? [answer] : [answer, { role: 'tool', content: row.calls.map(resultOf) }];
}

function sentPart(part: MessagePart): (LanguageModelV4TextPart | LanguageModelV4FilePart)[] {
  if (part.type === 'attachment') return [placeholderOf(part)];
  return part.type === 'text' ? [part] : [];
}

const isOwn = ({ run_id, model }: Said, reader: Reader) =>
  run_id === reader.runId && (model === null || model === reader.model);

/** Reasoning, and what providers sign, is bound to the model and the turn it was made in; earlier turns go without. */
function withoutProviderState(part: MessagePart): MessagePart[] {
  if (part.type !== 'text' && part.type !== 'tool-call') return [];
  const { providerOptions: _, ...plain } = part;
  return [plain];
}

function resultOf({ call_id, tool, output, is_error, state }: SaidCall): LanguageModelV4ToolResultPart {
  const value = state === 'finished' ? (output ?? '') : INTERRUPTED;
  const type = is_error || state !== 'finished' ? 'error-text' : 'text';
  return { type: 'tool-result', toolCallId: call_id, toolName: tool, output: { type, value } };
}
