import { ModelError } from '#libs/model-client/index.js';
import { type AttachmentsStore, attach, hashesIn, weightOf } from '../attachments/index.js';
import type { MessagesStore, Said } from '../chats/index.js';
import { type Compactor, ContextWindow, type Conversation, type ModelInput } from '../context/index.js';
import type { CallableModel, ResponseCheck } from '../models/index.js';
import {
  type CarriedRun,
  contextCompacted,
  contextCompacting,
  LimitReached,
  modelFellBack,
  type RunJournal,
  type RunLimits,
  stepRestarted,
  stepWaiting,
} from '../runs/index.js';
import type { DeltaWriter } from './delta-writer.js';
import {
  buildPrompt,
  type ModelAnswer,
  messagesOf,
  type StepCaller,
  systemPrompt,
  textOf,
} from './model-calls.js';
import type { RunTools } from './tool-gateway.js';

interface TurnParts {
  readonly conversation: Conversation;
  readonly messages: MessagesStore;
  readonly steps: StepCaller;
  readonly compactor: Compactor;
  readonly attachments: AttachmentsStore;
  readonly journal: RunJournal;
  readonly deltas: DeltaWriter;
  readonly limits: RunLimits;
}

/** What a model is asked in a step. */
interface Question {
  rows: readonly Said[];
  input: ModelInput;
  /** Its size. */
  bytes: number;
}

/** The model's turns in one attempt at a run: the conversation so far goes in, made shorter where it is too long. */
export class ModelTurns {
  private model: CallableModel;
  private window: ContextWindow;
  /** Models that are asked next where this one cannot answer. */
  private readonly others: string[];
  /** Bytes of attachments, by hash. */
  private readonly attached = new Map<string, Buffer>();

  constructor(
    private readonly parts: TurnParts,
    private readonly run: CarriedRun,
    private readonly check: ResponseCheck | null,
    private readonly signal: AbortSignal,
  ) {
    this.model = parts.steps.open(run.model);
    this.window = new ContextWindow(this.model.contextWindow);
    this.others = [...run.fallback_models];
  }

  /**
   * The model's answer in step `step`, or that of another of the run's models where it cannot answer; its cost counts.
   * Throws LimitReached where making room has used up the budget.
   */
  async take(step: number, tools: RunTools): Promise<ModelAnswer> {
    this.parts.limits.begin();
    for (;;) {
      try {
        return await this.takeWith(step, tools);
      } catch (error) {
        if (!isOutOfReach(error) || !(await this.fallBack(step, error))) throw error;
      }
    }
  }

  /** Goes on to the next model that may be used; false where there is none. What was shown of the step is void. */
  private async fallBack(step: number, { message }: ModelError): Promise<boolean> {
    const { steps, deltas, journal } = this.parts;
    for (let id = this.others.shift(); id !== undefined; id = this.others.shift()) {
      if (!(await steps.isUsable(this.run, id))) continue;
      const from = this.model.id;
      this.model = steps.open(id);
      this.window = new ContextWindow(this.model.contextWindow);
      deltas.restart(stepRestarted(step, { attempt: 1, delay_ms: 0, message }));
      await journal.tell([...(await deltas.handOver()), modelFellBack(step, from, id, message)]);
      return true;
    }
    return false;
  }

  private async takeWith(step: number, tools: RunTools): Promise<ModelAnswer> {
    let question = await this.ask(tools);
    if (this.window.isFullWith(question.bytes))
      question = (await this.compact(step, question, tools)) ?? question;
    try {
      return await this.answer(step, question);
    } catch (error) {
      const shorter = isTooLong(error) ? await this.afterRefusal(step, question, tools, error) : undefined;
      if (!shorter) throw error;
      return this.answer(step, shorter);
    }
  }

  private async ask(tools: RunTools): Promise<Question> {
    const { id: runId, workspace_id } = this.run;
    const rows = await this.parts.conversation.read();
    const instructions = systemPrompt(tools.guide, workspace_id !== null);
    const system = this.check ? `${instructions}\n\n${this.check.instructions}` : instructions;
    for (const said of this.check ? rows.filter(row => row.role === 'assistant' && row.run_id === runId) : [])
      await this.check?.read(textOf(said));
    const correction = (text: string) => this.check?.correction(text) ?? '';
    const prompt = buildPrompt(system, rows, { runId, model: this.model.id, correction });
    const input = { prompt, tools: [...tools.offered] };
    return { rows, input, bytes: inputBytes(input) + attachedBytes(rows) };
  }

  private async answer(step: number, { input, bytes }: Question): Promise<ModelAnswer> {
    const answer = await this.parts.steps.call({
      run: this.run,
      step,
      model: this.model,
      mayBeStopped: this.parts.journal.mayBeStopped(),
      input: await this.withAttachments(input),
      bytes,
      responseSchema: this.check?.schema,
      signal: this.signal,
      onDelta: ({ type, text }) => this.parts.deltas.add(`${type}.delta`, text, { step }),
      onRestart: why => this.parts.deltas.restart(stepRestarted(step, why)),
      onWait: provider => this.parts.deltas.put(stepWaiting(step, provider)),
    });
    this.window.learn(answer.result.usage.input_tokens, bytes);
    this.parts.limits.add(answer.costUsd);
    return answer;
  }

  /** The files that the prompt names, in their places; they are read once in an attempt. */
  private async withAttachments(input: ModelInput): Promise<ModelInput> {
    const hashes = hashesIn(input.prompt);
    if (hashes.length === 0) return input;
    const missing = hashes.filter(hash => !this.attached.has(hash));
    const read = missing.length > 0 ? await this.parts.attachments.bytesOf(this.run.chat_id, missing) : [];
    for (const [hash, bytes] of read) this.attached.set(hash, bytes);
    return { ...input, prompt: attach(input.prompt, this.attached, this.model.takes) };
  }

  /** The provider knows its window better than we do. */
  private afterRefusal(
    step: number,
    question: Question,
    tools: RunTools,
    { message }: ModelError,
  ): Promise<Question | undefined> {
    this.parts.deltas.restart(stepRestarted(step, { attempt: 1, delay_ms: 0, message }));
    return this.compact(step, question, tools);
  }

  /** Replaces older messages by a summary; undefined where there is nothing to summarize. */
  private async compact(step: number, { bytes }: Question, tools: RunTools): Promise<Question | undefined> {
    const { id: runId, chat_id: chatId, number } = this.run;
    const reader = { runId, model: this.model.id };
    const rows = await this.parts.messages.conversation(chatId, number);
    const summary = await this.parts.compactor.summarize({
      chatId,
      runId,
      step,
      rows,
      window: this.window,
      promptBytes: bytes,
      bytesOf: row => bytesOf(messagesOf(row, reader)) + attachedBytes([row]),
      ask: input => this.summarizer(step, input),
    });
    if (!summary) return undefined;
    await this.parts.journal.compacted(summary, [contextCompacted(summary)]);
    if (summary.usage) this.parts.limits.add(summary.costUsd);
    const limit = this.parts.limits.reached(tools.mostSteps, 1);
    if (limit) throw new LimitReached(limit);
    return this.ask(tools);
  }

  private async summarizer(step: number, input: ModelInput): Promise<ModelAnswer> {
    await this.parts.journal.tell([...(await this.parts.deltas.handOver()), contextCompacting(step)]);
    const { run, model, signal } = this;
    const silent = { onDelta: () => undefined, onRestart: () => undefined, onWait: () => undefined };
    const mayBeStopped = this.parts.journal.mayBeStopped();
    const bytes = inputBytes(input);
    return this.parts.steps.call({ run, step, model, mayBeStopped, input, bytes, signal, ...silent });
  }
}

function isTooLong(error: unknown): error is ModelError {
  return error instanceof ModelError && error.kind === 'context_length';
}

/** Failures that another provider may well not have. */
const ELSEWHERE: ReadonlySet<ModelError['kind']> = new Set([
  'rate_limited',
  'overloaded',
  'timeout',
  'network',
]);

function isOutOfReach(error: unknown): error is ModelError {
  return error instanceof ModelError && ELSEWHERE.has(error.kind);
}

/** What the attachments of messages take beside their names. */
function attachedBytes(rows: readonly Pick<Said, 'content'>[]): number {
  const parts = rows.flatMap(({ content }) => content);
  return parts.reduce((sum, part) => sum + (part.type === 'attachment' ? weightOf(part) : 0), 0);
}

/** Sizes of tools, which are the same in every prompt. */
const toolBytes = new WeakMap<object, number>();

function inputBytes({ prompt, tools }: ModelInput): number {
  return tools.reduce((sum, tool) => {
    const bytes = toolBytes.get(tool) ?? bytesOf(tool);
    toolBytes.set(tool, bytes);
    return sum + bytes;
  }, bytesOf(prompt));
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
