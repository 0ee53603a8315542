import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider';
import { type AttachmentPart, placeholderOf } from '../attachments/index.js';
import type { MessagePart, Said, SaidCall } from '../chats/index.js';

/** The result of a call of which none is known. */
export const INTERRUPTED =
  'Interrupted: the service stopped while this call was under way. It may or may not have taken effect; check before you repeat it. The sandbox of commands begins anew.';

/** The conversation as a model takes it: every tool call is followed by a result, whatever became of it. */
export function buildPrompt(system: string, rows: readonly Said[], reader: Reader): LanguageModelV4Prompt {
  const shown = reader.sees ? imagesShown(rows) : undefined;
  const messages = rows.flatMap((row, index) => [
    ...messagesOf(row, reader, shown),
    ...correctionOf(row, rows[index + 1], reader),
  ]);
  return [{ role: 'system', content: system }, ...messages];
}

/** For which run, and for which model, a prompt is. */
export interface Reader {
  runId: string;
  model: string;
  /** Whether the model takes images: those that tools gave are shown then. */
  sees?: boolean;
  /** The message that follows an answer of this run that was not accepted. */
  correction?: (text: string) => string;
}

const CORRECTED = 'That was not the JSON that was asked for. Answer again.';

/** An answer after which its run went on without tools, or anything said, was not accepted. */
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
export function messagesOf(
  row: Said,
  reader: Reader,
  shown?: ReadonlySet<AttachmentPart>,
): LanguageModelV4Message[] {
  if (row.role !== 'assistant') return [{ role: 'user', content: row.content.flatMap(sentPart) }];
  const content = isOwn(row, reader) ? row.content : row.content.flatMap(withoutProviderState);
  if (content.length === 0) return [];
  const answer = { role: 'assistant', content } as LanguageModelV4Message;
  if (row.calls.length === 0) return [answer];
  const results = { role: 'tool' as const, content: row.calls.map(resultOf) };
  return [answer, results, ...(shown ? imagesOf(row.calls, shown) : [])];
}

/** Of the images that tools gave, providers take so many and so much; the newest are shown. */
const MAX_IMAGES = 20;
const MAX_IMAGE_BYTES = 12 * 1024 * 1024;

function imagesShown(rows: readonly Said[]): ReadonlySet<AttachmentPart> {
  const all = rows.flatMap(({ calls }) => calls.flatMap(({ images }) => images ?? [])).reverse();
  let room = MAX_IMAGE_BYTES;
  const shown = new Set<AttachmentPart>();
  for (const image of all.slice(0, MAX_IMAGES)) {
    room -= image.size;
    if (room < 0) break;
    shown.add(image);
  }
  return shown;
}

/** Few protocols have images in results of tools: they follow in a message of their own. */
function imagesOf(calls: readonly SaidCall[], shown: ReadonlySet<AttachmentPart>): LanguageModelV4Message[] {
  const images = calls.flatMap(call => call.images ?? []);
  if (images.length === 0) return [];
  const content = images.flatMap(image => [
    { type: 'text' as const, text: shown.has(image) ? `${image.path}:` : `${image.path}: ${LEFT_OUT}` },
    ...(shown.has(image) ? [placeholderOf(image)] : []),
  ]);
  return [{ role: 'user', content }];
}

const LEFT_OUT = 'an image of before, left out to make room for newer ones; read it again if it is needed';

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
