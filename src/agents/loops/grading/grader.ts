import type { LanguageModelV4Prompt, LanguageModelV4ToolResultPart } from '@ai-sdk/provider';
import { Injectable } from '@nestjs/common';
import { ModelError, type StepResult } from '#libs/model-client/index.js';
import { type VisibleWorkspace, WorkspaceFolders } from '../../../workspaces/core/index.js';
import { ResponseSchemas } from '../../models/index.js';
import { ModelCaller } from '../../runs/index.js';
import { GraderCalls, type LoopRow, LoopsStore, type Verdict } from '../records/index.js';
import { spentUp } from '../running/index.js';
import { GraderFiles } from './grader-files.js';
import { type Exhibit, GRADER_TOOLS, graderPrompt, verdictFaults, verdictSchema } from './grader-prompt.js';

/** Model calls of one grading. */
const MAX_CALLS = 16;
/** Answers that are no verdict, before the grading is given up. */
const MAX_FAULTS = 2;
/** Steps of a run are counted from 1; those of its grading stand apart. */
const FIRST_STEP = 1_000_000;

/** The grader gave no verdict. */
export class GraderFailed extends Error {}
/** The budget of the loop lets the grader do nothing more. */
export class GradingUnpaid extends Error {}

/** The run whose work is graded, which pays. */
interface GradedRun {
  readonly id: string;
  readonly attempt: number;
}

interface Grading {
  readonly loop: LoopRow;
  readonly run: GradedRun;
  readonly workspace: VisibleWorkspace;
  readonly exhibit: Exhibit;
  readonly signal: AbortSignal;
}

/** Asks a model, apart from the agent and its conversation, whether a rubric is met. */
@Injectable()
export class Grader {
  constructor(
    private readonly steps: ModelCaller,
    private readonly calls: GraderCalls,
    private readonly loops: LoopsStore,
    private readonly schemas: ResponseSchemas,
    private readonly folders: WorkspaceFolders,
  ) {}

  /** Throws GraderFailed, GradingUnpaid, BudgetReached, ModelUnusable. */
  async verdict(grading: Grading): Promise<Verdict> {
    const { exhibit, workspace } = grading;
    const { rubric } = exhibit;
    const check = this.schemas.checkOf(verdictSchema(rubric));
    const files = new GraderFiles(this.folders.open(workspace));
    const prompt = graderPrompt(exhibit);
    let faults = 0;
    for (let number = 0; number < MAX_CALLS; number += 1) {
      await this.requirePaid(grading.loop);
      const answer = await this.ask(grading, prompt, FIRST_STEP + number);
      if (typeof answer === 'string') {
        faults += 1;
        if (faults >= MAX_FAULTS) throw new GraderFailed(`The grader could not be asked: ${answer}`);
        continue;
      }
      prompt.push({ role: 'assistant', content: answer.content } as LanguageModelV4Prompt[number]);
      if (answer.tool_calls.length > 0) {
        prompt.push({ role: 'tool', content: await resultsOf(answer, files) });
        continue;
      }
      const { json, faults: wrong } = await check.read(answer.text);
      const found = wrong ?? verdictFaults(rubric, json?.value as Verdict);
      if (found.length === 0) return json?.value as Verdict;
      faults += 1;
      if (faults >= MAX_FAULTS)
        throw new GraderFailed(`The grader gave no verdict: ${found.join('; ').slice(0, 500)}`);
      prompt.push({ role: 'user', content: [{ type: 'text', text: correction(found) }] });
    }
    throw new GraderFailed(`The grader gave no verdict in ${MAX_CALLS} model calls`);
  }

  /** As it stands by now: other calls of this grading have been paid. */
  private async requirePaid({ id }: LoopRow): Promise<void> {
    const loop = await this.loops.find(id);
    const spent = loop && spentUp(loop);
    if (spent !== undefined) throw new GradingUnpaid(spent);
  }

  /** What the model answered; a sentence where it could not. */
  private async ask(
    { loop, run, exhibit, signal }: Grading,
    prompt: LanguageModelV4Prompt,
    step: number,
  ): Promise<StepResult | string> {
    const { chat_id, organization_id, workspace_id } = loop;
    await this.steps.check({ organization_id, model: exhibit.rubric.model });
    const model = this.steps.open(exhibit.rubric.model);
    const silent = { onDelta: () => undefined, onRestart: () => undefined, onWait: () => undefined };
    try {
      const { result, costUsd } = await this.steps.call({
        run: { ...run, chat_id, organization_id, workspace_id },
        step,
        model,
        input: { prompt: [...prompt], tools: GRADER_TOOLS },
        bytes: Buffer.byteLength(JSON.stringify(prompt)),
        responseSchema: verdictSchema(exhibit.rubric),
        signal,
        ...silent,
      });
      await this.calls.enter(loop, { model: model.id, usage: result.usage, costUsd });
      return result;
    } catch (error) {
      if (error instanceof ModelError && !signal.aborted) return error.message;
      throw error;
    }
  }
}

async function resultsOf(
  { tool_calls }: StepResult,
  files: GraderFiles,
): Promise<LanguageModelV4ToolResultPart[]> {
  const results: LanguageModelV4ToolResultPart[] = [];
  for (const { id, tool, input, invalid } of tool_calls) {
    const { text, isError } = invalid ? { text: invalid, isError: true } : await files.read(tool, input);
    const output = { type: isError ? ('error-text' as const) : ('text' as const), value: text };
    results.push({ type: 'tool-result', toolCallId: id, toolName: tool, output });
  }
  return results;
}

const correction = (faults: readonly string[]): string =>
  `That is no verdict:\n${faults.map(fault => `- ${fault}`).join('\n')}\n\nAnswer again with the JSON value alone, each criterion once.`;
