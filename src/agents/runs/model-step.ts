import { Injectable } from '@nestjs/common';
import type { ResponseCheck } from '#libs/bounded-schema/index.js';
import { ContextWindow, ModelError } from '#libs/model-client/index.js';
import { AttachmentsStore, attach, hashesIn, weightOf } from '../attachments/index.js';
import {
  type ChatSummary,
  Compactor,
  type ContextView,
  MessagesStore,
  type ModelInput,
  type Said,
  supersededResults,
  withoutResults,
} from '../chats/index.js';
import { type CallableModel, ResponseSchemas } from '../models/index.js';
import { type ModelAnswer, ModelCaller } from './model-call.js';
import { buildPrompt, messagesOf, textOf } from './prompt.js';
import type { RunAttempt } from './run-attempt.js';
import { LimitReached } from './run-limits.js';
import type { ClaimedRun } from './run-queue.store.js';
import { type NewEvent, stepRestarted } from './run-state.js';
import type { RunTools } from './run-tools.js';
import { SystemPrompts } from './system-prompt.js';

/** An answer, and how full the window is with it. */
export type StepAnswer = ModelAnswer & { readonly context: ContextView };

/** What a model is asked in a step. */
interface Question {
  rows: readonly Said[];
  input: ModelInput;
  /** Its size. */
  bytes: number;
}

/** Asks models on behalf of attempts. */
@Injectable()
export class ModelSteps {
  constructor(
    readonly messages: MessagesStore,
    readonly caller: ModelCaller,
    readonly compactor: Compactor,
    readonly attachments: AttachmentsStore,
    readonly prompts: SystemPrompts,
    private readonly schemas: ResponseSchemas,
  ) {}

  /** Throws ModelUnusable where the organization may no longer use the run's model. */
  check(run: ClaimedRun): Promise<void> {
    return this.caller.check(run);
  }

  open(attempt: RunAttempt, tools: RunTools): ModelStep {
    const { response_schema: schema } = attempt.run;
    return new ModelStep(this, attempt, tools, schema && this.schemas.checkOf(schema));
  }
}

/** The model's turns in one attempt at a run: the conversation so far goes in, made shorter where it is too long. */
export class ModelStep {
  private model: CallableModel;
  private window: ContextWindow;
  /** Models that are asked next where this one cannot answer. */
  private readonly others: string[];
  /** The system prompt, which stays the same as long as the attempt does. */
  private instructions: string | undefined;
  /** Results that later ones have made superfluous. They stay left out: what a provider has cached remains of use. */
  private leftOut: ReadonlySet<string> = new Set();
  /** Bytes of attachments, by hash. */
  private readonly attached = new Map<string, Buffer>();

  constructor(
    private readonly services: ModelSteps,
    private readonly attempt: RunAttempt,
    private readonly tools: RunTools,
    /** What the answer must be valid against. */
    readonly check: ResponseCheck | null,
  ) {
    this.model = services.caller.open(attempt.run.model);
    this.window = new ContextWindow(this.model.contextWindow);
    this.others = [...attempt.run.fallback_models];
  }

  /**
   * The model's answer in step `step`, or that of another of the run's models where it cannot answer; its cost counts.
   * Throws LimitReached where making room has used up the budget.
   */
  async ask(step: number): Promise<StepAnswer> {
    this.attempt.limits.begin();
    for (;;) {
      try {
        return await this.askOne(step);
      } catch (error) {
        if (!isOutOfReach(error) || !(await this.fallBack(step, error))) throw error;
      }
    }
  }

  /** Goes on to the next model that may be used; false where there is none. What was shown of the step is void. */
  private async fallBack(step: number, { message }: ModelError): Promise<boolean> {
    const { caller } = this.services;
    const { run, deltas, journal } = this.attempt;
    for (let id = this.others.shift(); id !== undefined; id = this.others.shift()) {
      if (!(await caller.isUsable(run, id))) continue;
      const from = this.model.id;
      this.model = caller.open(id);
      this.window = new ContextWindow(this.model.contextWindow);
      deltas.restart(stepRestarted(step, { attempt: 1, delay_ms: 0, message }));
      await journal.append([
        ...(await deltas.handOver()),
        { type: 'model.fallback', data: { step, from, to: id, message } },
      ]);
      return true;
    }
    return false;
  }

  private async askOne(step: number): Promise<StepAnswer> {
    let question = await this.question();
    if (this.window.isUnsureOf(question.bytes)) await this.count(question);
    if (this.window.isFullWith(question.bytes)) question = (await this.trim(step, question)) ?? question;
    if (this.window.isFullWith(question.bytes)) question = (await this.compact(step, question)) ?? question;
    try {
      return await this.answer(step, question);
    } catch (error) {
      if (!isTooLong(error)) throw error;
      // The provider knows its window better than we do.
      const { message } = error;
      this.attempt.deltas.restart(stepRestarted(step, { attempt: 1, delay_ms: 0, message }));
      const trimmed = await this.trim(step, question);
      const shorter = (await this.compact(step, trimmed ?? question)) ?? trimmed;
      if (!shorter) throw error;
      return this.answer(step, shorter);
    }
  }

  /** Asks the provider how much of the window a question takes. */
  private async count({ rows, input, bytes }: Question): Promise<void> {
    const whole = rows.some(hasAttachment) ? await this.withAttachments(input) : input;
    const tokens = await this.services.caller.count(this.model, whole, this.attempt.signal);
    this.window.learn(tokens ?? null, bytes);
  }

  private async question(): Promise<Question> {
    const { check, tools } = this;
    const { run, journal } = this.attempt;
    const { id: runId } = run;
    const rows = withoutResults(await journal.conversation.read(), this.leftOut);
    this.instructions ??= await this.services.prompts.of(run, tools);
    const system = check ? `${this.instructions}\n\n${check.instructions}` : this.instructions;
    const own = rows.filter(row => row.role === 'assistant' && row.run_id === runId);
    for (const said of check ? own : []) await check?.read(textOf(said));
    const correction = (text: string) => check?.correction(text) ?? '';
    const sees = this.model.takes.includes('image');
    const prompt = buildPrompt(system, rows, { runId, model: this.model.id, sees, correction });
    const input = { prompt, tools: [...tools.offered] };
    return { rows, input, bytes: inputBytes(input) + attachedBytes(rows) };
  }

  private async answer(step: number, { rows, input, bytes }: Question): Promise<StepAnswer> {
    const answer = await this.services.caller.call({
      run: this.attempt.run,
      step,
      model: this.model,
      input: rows.some(hasAttachment) ? await this.withAttachments(input) : input,
      bytes,
      responseSchema: this.check?.schema,
      signal: this.attempt.signal,
      onDelta: ({ type, text }) => this.attempt.deltas.add(`${type}.delta`, text, { step }),
      onRestart: why => this.attempt.deltas.restart(stepRestarted(step, why)),
      onWait: provider => this.attempt.deltas.put({ type: 'step.waiting', data: { step, provider } }),
    });
    this.window.learn(answer.result.usage.input_tokens, bytes);
    this.attempt.limits.add(answer.costUsd);
    return { ...answer, context: this.contextAfter(step, answer, bytes) };
  }

  private contextAfter(step: number, { result, model }: ModelAnswer, bytes: number): ContextView {
    const { input_tokens, output_tokens } = result.usage;
    const said = this.window.tokens(bytesOf(result.content));
    const tokens = (input_tokens || this.window.tokens(bytes)) + (output_tokens ?? said);
    const source = input_tokens ? 'provider' : 'estimate';
    return { tokens, window: this.model.contextWindow, source, model, step };
  }

  /** Leaves out what later calls gave anew; undefined where there is no more of it. */
  private async trim(step: number, { bytes }: Question): Promise<Question | undefined> {
    const { journal, deltas } = this.attempt;
    const superseded = supersededResults(await journal.conversation.read());
    const more = [...superseded].filter(result => !this.leftOut.has(result));
    if (more.length === 0) return undefined;
    this.leftOut = new Set([...this.leftOut, ...more]);
    const question = await this.question();
    const tokens = {
      tokens_before: this.window.tokens(bytes),
      tokens_after: this.window.tokens(question.bytes),
    };
    await journal.append([
      ...(await deltas.handOver()),
      { type: 'context.trimmed', data: { step, results: more.length, ...tokens } },
    ]);
    return question;
  }

  /** The files that the prompt names, in their places; they are read once in an attempt. */
  private async withAttachments(input: ModelInput): Promise<ModelInput> {
    const missing = hashesIn(input.prompt).filter(hash => !this.attached.has(hash));
    const read =
      missing.length > 0 ? await this.services.attachments.bytesOf(this.attempt.run.chat_id, missing) : [];
    for (const [hash, bytes] of read) this.attached.set(hash, bytes);
    return { ...input, prompt: attach(input.prompt, this.attached, this.model.takes) };
  }

  /** Replaces older messages by a summary; undefined where there is nothing to summarize. */
  private async compact(step: number, { bytes }: Question): Promise<Question | undefined> {
    const { id: runId, chat_id: chatId, number } = this.attempt.run;
    const reader = { runId, model: this.model.id };
    const rows = withoutResults(await this.services.messages.conversation(chatId, number), this.leftOut);
    const summary = await this.services.compactor.summarize({
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
    await this.attempt.journal.compacted(summary, [compacted(summary)]);
    if (summary.usage) this.attempt.limits.add(summary.costUsd);
    const limit = this.attempt.limits.reached(this.tools.maxSteps, 1);
    if (limit) throw new LimitReached(limit);
    return this.question();
  }

  private async summarizer(step: number, input: ModelInput): Promise<ModelAnswer> {
    await this.attempt.journal.append([
      ...(await this.attempt.deltas.handOver()),
      { type: 'context.compacting', data: { step } },
    ]);
    const { model } = this;
    const { run, signal } = this.attempt;
    const silent = { onDelta: () => undefined, onRestart: () => undefined, onWait: () => undefined };
    const bytes = inputBytes(input);
    return this.services.caller.call({ run, step, model, input, bytes, signal, ...silent });
  }
}

const compacted = (summary: ChatSummary): NewEvent => ({
  type: 'context.compacted',
  data: {
    step: summary.step,
    messages: summary.messageCount,
    tokens_before: summary.tokensBefore,
    tokens_after: summary.tokensAfter,
    usage: summary.usage,
    cost_usd: summary.costUsd,
  },
});

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

const hasAttachment = ({ content, calls }: Pick<Said, 'content' | 'calls'>): boolean =>
  content.some(({ type }) => type === 'attachment') || calls.some(({ images }) => images !== null);

/** What the attachments of messages take beside their names. */
function attachedBytes(rows: readonly Pick<Said, 'content' | 'calls'>[]): number {
  const parts = rows.flatMap(({ content, calls }) => [
    ...content,
    ...calls.flatMap(({ images }) => images ?? []),
  ]);
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
