import { Injectable } from '@nestjs/common';
import { problemOf } from '../../platform/errors/index.js';
import { AttachmentsService } from '../attachments/index.js';
import { LongOutputs, MAX_OUTPUT, shorten, type ToolResult } from '../tools/index.js';
import type { CallOutcome } from './run-journal.js';
import type { PlannedCall, RunRow } from './run-state.js';

type CallingRun = Pick<RunRow, 'id' | 'actor' | 'workspace_id' | 'chat_id'>;
type Call = Pick<PlannedCall, 'step' | 'position' | 'tool'>;

/** Results of calls as models get them. */
@Injectable()
export class CallResults {
  constructor(
    private readonly longOutputs: LongOutputs,
    private readonly attachments: AttachmentsService,
  ) {}

  /** What is too long for a model is in a file of the workspace. */
  async fit(run: CallingRun, call: Call, result: ToolResult): Promise<CallOutcome> {
    const { images: shown = [], ...rest } = result;
    const { images: kept = [], ...fitting } = await this.fitText(run, call, rest);
    const images = [...shown, ...kept];
    const { workspace_id: workspaceId, chat_id } = run;
    if (images.length === 0 || workspaceId === null) return fitting;
    try {
      const attachments = await this.attachments.ofTool(chat_id, workspaceId, images);
      return { ...fitting, shown: { workspaceId, attachments } };
    } catch (error) {
      const problem = problemOf(error);
      if (!problem) throw error;
      return { ...fitting, output: `${fitting.output}\n(It cannot be shown: ${problem.detail})` };
    }
  }

  private async fitText(run: CallingRun, call: Call, result: ToolResult): Promise<ToolResult> {
    const { whole = result.output, files = [], ...fitting } = result;
    if (whole.length <= MAX_OUTPUT && files.length === 0) return fitting;
    const { id: runId, actor, workspace_id: workspaceId } = run;
    if (workspaceId === null) return { ...fitting, output: shorten(result.output) };
    const place = { actor, workspaceId, runId, ...call };
    const { longOutputs } = this;
    const fitted = whole.length <= MAX_OUTPUT ? fitting : await longOutputs.fit(place, fitting, whole);
    return files.length === 0 ? fitted : longOutputs.withFiles(place, fitted, files);
  }
}
