import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider';
import { Injectable } from '@nestjs/common';
import {
  costUsd,
  countTokens,
  type StepRequest,
  type StepResult,
  streamStep,
} from '#libs/model-client/index.js';
import { Budgets, type PlannedSpend } from '../../identity/billing/index.js';
import { Config } from '../../platform/config/index.js';
import { Unavailable } from '../../platform/errors/index.js';
import { type AttachmentPart, placeholderOf } from '../attachments/index.js';
import { type MessagePart, type ModelInput, type Said, type SaidCall } from '../chats/index.js';
import {
  type CallableModel,
  estimateUsd,
  ModelCatalog,
  ModelMetrics,
  ModelSettingsStore,
  ModelSlots,
  ModelUnusable,
} from '../models/index.js';
import type { ExecutedRun, RunRow } from '../runs/index.js';

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

/** The run that pays, and its place. */
type Paying = Pick<ExecutedRun, 'id' | 'attempt' | 'chat_id' | 'organization_id' | 'workspace_id'>;

/** One call of a model on behalf of a run. */
export interface ModelCall extends Pick<StepRequest, 'signal' | 'onDelta' | 'onRestart' | 'responseSchema'> {
  run: Paying;
  /** The step that it is for. */
  step: number;
  model: CallableModel;
  input: ModelInput;
  /** Size of the input. */
  bytes: number;
  /** Called when the call has to wait, as too many are made to its provider. */
  onWait: (provider: string) => void;
}

export interface ModelAnswer {
  result: StepResult;
  costUsd: number | null;
  /** Id of the model that gave it. */
  model: string;
}

/** Calls models on behalf of runs, within their budgets. */
@Injectable()
export class StepCaller {
  constructor(
    private readonly models: ModelSettingsStore,
    private readonly catalog: ModelCatalog,
    private readonly budgets: Budgets,
    private readonly slots: ModelSlots,
    private readonly metrics: ModelMetrics,
    private readonly config: Config,
  ) {}

  /** Throws ModelUnusable where the organization may no longer use the run's model. */
  async check({ organization_id, model }: Pick<RunRow, 'organization_id' | 'model'>): Promise<void> {
    await this.models.resolve(organization_id, model);
  }

  /** Whether the organization may use a model, and its provider is configured. */
  async isUsable({ organization_id }: Pick<RunRow, 'organization_id'>, model: string): Promise<boolean> {
    try {
      await this.models.resolve(organization_id, model);
      return this.catalog.find(model) !== undefined;
    } catch (error) {
      if (error instanceof ModelUnusable) return false;
      throw error;
    }
  }

  /** Throws Unavailable where the model's provider is no longer configured. */
  open(model: string): CallableModel {
    const found = this.catalog.find(model);
    if (!found) throw new Unavailable(`The model ${model} is no longer configured`);
    return found;
  }

  /** How many tokens an input has, where the provider of the model tells that beforehand. */
  count({ model }: CallableModel, input: ModelInput, signal: AbortSignal): Promise<number | undefined> {
    return countTokens({ model, ...input, signal });
  }

  /** Throws BudgetReached, before the model is called, where a budget has no room for what that may cost. */
  async call({ run, step, model, input, bytes, onWait, ...hooks }: ModelCall): Promise<ModelAnswer> {
    const silence = this.config.modelTimeoutSeconds * 1000;
    const estimate = estimateUsd(model.price, bytes);
    const stream = () =>
      this.metrics.during(model, () =>
        streamStep({
          model: model.model,
          ...input,
          timeouts: { firstByteMs: silence, idleMs: silence },
          cacheKey: run.chat_id,
          enter: () => this.enter(model.id, run.organization_id, hooks.signal, onWait),
          ...hooks,
        }),
      );
    const result = await this.withinBudget(spendOf(run, step, estimate), hooks.signal, stream);
    return { result, costUsd: model.price && costUsd(result.usage, model.price), model: model.id };
  }

  /** Organizations take turns where a provider is asked for more than it is given at once. */
  private enter(
    modelId: string,
    organizationId: string,
    signal: AbortSignal,
    onWait: ModelCall['onWait'],
  ): Promise<() => void> {
    const provider = modelId.slice(0, modelId.indexOf('/'));
    const limit = this.config.modelConcurrency.get(provider);
    if (limit === undefined) return Promise.resolve(() => {});
    return this.slots.enter({ provider, organizationId, limit }, signal, () => onWait(provider));
  }

  /** The reservation of a call that succeeds is released where its cost is written. */
  private async withinBudget<T>(
    spend: PlannedSpend,
    signal: AbortSignal,
    call: () => Promise<T>,
  ): Promise<T> {
    await this.budgets.admit(spend, signal);
    try {
      return await call();
    } catch (error) {
      // What cannot be freed now is replaced by the run's next attempt, or expires.
      await Promise.allSettled([this.budgets.release(spend)]);
      throw error;
    }
  }
}

function spendOf(run: Paying, step: number, estimateUsd: number | null): PlannedSpend {
  const { id: runId, attempt, organization_id: organizationId, workspace_id: workspaceId } = run;
  return { runId, attempt, step, organizationId, workspaceId, estimateUsd };
}
