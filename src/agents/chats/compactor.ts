import { Injectable } from '@nestjs/common';
import {
  type ContextWindow,
  ModelError,
  type StepResult,
  summaryPrompt,
  type TranscriptEntry,
  transcriptOf,
  withoutMiddle,
  wrapSummary,
} from '#libs/model-client/index.js';
import { type PlanStep, PlansStore, planText } from '../plans/index.js';
import { ChatSummariesStore, type ChatSummary } from './chat-summaries.store.js';
import type { ModelInput } from './conversation.js';
import type { ConversationRow, MessagePart } from './messages.store.js';

/** A message and what its tools gave back, as a summarizer reads it; reasoning is left out. */
export function entriesOf(row: ConversationRow): TranscriptEntry[] {
  if (row.role === 'summary') {
    const [summary = '', ...request] = row.content.map(textOf);
    const asked = request.map(text => ({ who: 'user', text }));
    return [...asked, { who: 'summary', text: summary }];
  }
  const said = row.content.map(textOf).filter(Boolean).join('\n');
  const calls = row.calls.flatMap(({ tool, input, output, is_error }) => [
    { who: `call ${tool}`, text: JSON.stringify(input) },
    { who: `result ${tool}`, text: `${is_error ? 'Failed: ' : ''}${output ?? '(no result)'}` },
  ]);
  return [...(said ? [{ who: row.role, text: said }] : []), ...calls];
}

const WRITERS: ReadonlySet<string> = new Set(['write_file', 'edit_file']);

/** Paths that the calls of these messages wrote to, by what they were asked. */
export function pathsWritten(rows: readonly ConversationRow[]): string[] {
  return rows.flatMap(({ calls }) =>
    calls.flatMap(({ tool, input, is_error }) => {
      const path = WRITERS.has(tool) && !is_error ? (input as { path?: unknown } | null)?.path : undefined;
      return typeof path === 'string' ? [path] : [];
    }),
  );
}

function textOf(part: MessagePart): string {
  if (part.type === 'attachment') return `(attached: ${part.path})`;
  return part.type === 'text' ? part.text : '';
}

/** Longest part of the chat's first message that every summary repeats, in bytes. */
const PINNED_BYTES = 4_000;
const MAX_FILES = 200;
const MAX_READ = 30;
const MAX_ANSWERS = 30;
/** Longest part of an answer of a person, and of what they were asked. */
const ANSWER_BYTES = 1_000;
/** How often a summarizer that is shown too much is shown less. */
const MAX_TRIES = 4;
/** The part of a prompt that must go for a summary to be worth it. */
const MIN_GAIN = 0.1;

/** What is to be summarized, and for whom. */
export interface Compaction {
  readonly chatId: string;
  readonly runId: string;
  readonly step: number;
  readonly rows: readonly ConversationRow[];
  readonly window: ContextWindow;
  /** Size of the prompt that has become too long. */
  readonly promptBytes: number;
  /** How many bytes of a prompt a row takes. */
  readonly bytesOf: (row: ConversationRow) => number;
  /** Asks the model; without tools. */
  readonly ask: (input: ModelInput) => Promise<{ result: StepResult; costUsd: number | null; model: string }>;
}

type Written = Pick<ChatSummary, 'usage' | 'costUsd' | 'model'> & { text: string };

/** Makes summaries in the place of the older messages of long chats. */
@Injectable()
export class Compactor {
  constructor(
    private readonly summaries: ChatSummariesStore,
    private readonly plans: PlansStore,
  ) {}

  /** The summary to keep; undefined where there is nothing that could be summarized. */
  async summarize(compaction: Compaction): Promise<ChatSummary | undefined> {
    const { rows, runId, step, window, promptBytes, bytesOf } = compaction;
    const older = olderOf(compaction);
    const last = older.at(-1);
    if (!last) return undefined;
    const files = await this.filesOf(compaction.chatId, older);
    const written = await write(compaction, older);
    const facts = { files, ...(await this.facts(compaction)) };
    const summary: MessagePart = { type: 'text', text: summaryText(written.text, facts, older) };
    const content = [summary, ...requestIn(older, runId, window.keptBytes(promptBytes))];
    const kept = rows.slice(older.length).reduce((sum, row) => sum + bytesOf(row), 0);
    const gone = rows.reduce((sum, row) => sum + bytesOf(row), 0) - kept;
    const after = promptBytes - gone + Buffer.byteLength(JSON.stringify(content));
    return {
      runId,
      step,
      throughRun: last.run_number,
      throughMessage: last.number,
      content,
      files,
      messageCount: older.filter(({ role }) => role !== 'summary').length,
      tokensBefore: window.tokens(promptBytes),
      tokensAfter: window.tokens(after),
      model: written.model,
      usage: written.usage,
      costUsd: written.costUsd,
      createdAt: new Date(),
    };
  }

  /** What is known for certain, and so is not left to the summarizer. */
  private async facts({ chatId, rows }: Compaction): Promise<Omit<Facts, 'files'>> {
    const [asked, plan, read, answers] = await Promise.all([
      this.summaries.firstMessage(chatId),
      this.plans.ofChat(chatId),
      this.summaries.filesRead(chatId, MAX_READ),
      this.summaries.answers(chatId, MAX_ANSWERS),
    ]);
    // The plan of a run that this one does not see is none of its own.
    const isSeen = rows.some(({ role, run_id }) => role === 'summary' || run_id === plan?.call_id);
    return { asked, plan: plan && isSeen ? plan.items : [], read, answers: answers.reverse() };
  }

  private async filesOf(chatId: string, older: readonly ConversationRow[]): Promise<string[]> {
    const runs = [...new Set(older.map(({ run_id }) => run_id))];
    const known = await this.summaries.filesChanged(chatId, runs, MAX_FILES);
    return [...new Set([...pathsWritten(older), ...known])].slice(0, MAX_FILES);
  }
}

/**
 * The oldest messages, up to where the rest fits. A message goes with the results of its tools, so that no result is
 * left without its call. The request that is being answered is only summarized when work on it has begun.
 */
function olderOf({ rows, runId, window, promptBytes, bytesOf }: Compaction): ConversationRow[] {
  let room = window.keptBytes(promptBytes);
  let first = rows.length;
  while (first > 0) {
    const row = rows[first - 1];
    if (!row) break;
    room -= bytesOf(row);
    const isRequest = row.role === 'user' && row.run_id === runId && first === rows.length;
    if (room < 0 && !isRequest) break;
    first -= 1;
  }
  const older = rows.slice(0, first);
  const gain = older.reduce((sum, row) => sum + bytesOf(row), 0);
  // A summary of nothing but a summary, or of very little, would only be followed by the next one.
  return older.some(({ role }) => role !== 'summary') && gain >= promptBytes * MIN_GAIN ? older : [];
}

/** The request that the run works on, word for word unless it is very long, where it is among what is summarized. */
function requestIn(older: readonly ConversationRow[], runId: string, mostBytes: number): MessagePart[] {
  const parts = older.flatMap(row => {
    if (row.run_id !== runId) return [];
    if (row.role === 'summary') return row.content.slice(1);
    return row.role === 'user' ? row.content : [];
  });
  return parts.map(part =>
    part.type === 'text' ? { ...part, text: withoutMiddle(part.text, mostBytes) } : part,
  );
}

async function write(compaction: Compaction, older: readonly ConversationRow[]): Promise<Written> {
  const entries = older.flatMap(entriesOf);
  let bytes = compaction.window.shownBytes(compaction.promptBytes);
  for (let tries = 1; ; tries += 1) {
    try {
      const prompt = summaryPrompt(transcriptOf(entries, bytes));
      const { result, costUsd, model } = await compaction.ask({ prompt, tools: [] });
      const { usage } = result;
      return { text: result.text.trim() || withoutModel(entries, bytes), usage, costUsd, model };
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      const isTooLong = error.kind === 'context_length' && tries < MAX_TRIES;
      if (isTooLong) bytes = Math.floor(bytes / 2);
      else if (error.kind === 'context_length' || error.kind === 'refused')
        return { text: withoutModel(entries, bytes), usage: null, costUsd: null, model: null };
      else throw error;
    }
  }
}

/** What people asked for, shortened: better than nothing where a model will not sum it up. */
function withoutModel(entries: readonly TranscriptEntry[], bytes: number): string {
  const said = entries.filter(({ who }) => who !== 'assistant' && !who.startsWith('result '));
  return transcriptOf(said, Math.min(bytes, PINNED_BYTES * 4));
}

/** What a summary has beside the words of its model. */
interface Facts {
  /** The chat's first message. */
  readonly asked: readonly MessagePart[];
  readonly files: readonly string[];
  readonly plan: readonly PlanStep[];
  readonly read: readonly string[];
  readonly answers: readonly { question: string; answer: string }[];
}

const listed = (paths: readonly string[]): string => paths.map(path => `- ${path}`).join('\n');

function summaryText(
  text: string,
  { asked: first, files, plan, read, answers }: Facts,
  older: readonly ConversationRow[],
): string {
  const asked = first.map(part => (part.type === 'text' ? part.text : '')).join('\n');
  const said = answers.map(
    ({ question, answer }) =>
      `- ${withoutMiddle(question, ANSWER_BYTES)}\n  ${withoutMiddle(answer, ANSWER_BYTES)}`,
  );
  const parts = [
    `The beginning of this conversation (${older.length} messages) was summarized to make room. The summary stands in its place.`,
    `# First message\n${withoutMiddle(asked, PINNED_BYTES)}`,
    ...(said.length > 0 ? [`# What people decided when they were asked\n${said.join('\n')}`] : []),
    ...(plan.length > 0 ? [`# ${planText(plan)}`] : []),
    ...(files.length > 0 ? [`# Files changed so far\n${listed(files)}`] : []),
    ...(read.length > 0
      ? [`# Files read so far, the last first; read again what you need\n${listed(read)}`]
      : []),
    `# Summary\n${text}`,
  ];
  return wrapSummary(parts.join('\n\n'));
}
