import { Injectable } from '@nestjs/common';
import { type WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import type { Actor } from '../../platform/access/index.js';
import type { ToolImage } from '../../platform/actions/index.js';
import { problemOf } from '../../platform/errors/index.js';
import { WorkspaceQuota } from '../../workspaces/changes/index.js';
import { WorkspaceFolders, WorkspacesStore } from '../../workspaces/core/index.js';
import { shownImageType } from '../../workspaces/files/index.js';
import { type OutputFile, shorten, type ToolResult } from './tool-provider.js';

/** Where outputs are kept; search and git pass it over. */
const FOLDER = '.atelier';
export const OUTPUTS = `${FOLDER}/output`;
/** Of so many runs they are kept; those of the oldest go first. */
const MAX_RUNS = 20;
/** What is shown of an output that is kept whole: so many characters, half of them from its end. */
const SHOWN = 16_000;

/** A call of a tool, by its run and its place there. */
interface CallPlace {
  readonly actor: Actor;
  readonly workspaceId: string;
  readonly runId: string;
  readonly step: number;
  readonly position: number;
  readonly tool: string;
}

/** Keeps outputs that are too long for a model in files of the workspace, where its tools can read them. */
@Injectable()
export class LongOutputs {
  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly folders: WorkspaceFolders,
    private readonly quota: WorkspaceQuota,
  ) {}

  /** The result as the model gets it: the beginning and the end of `output`, and where the whole of it is. */
  async fit(call: CallPlace, result: ToolResult, output: string): Promise<ToolResult> {
    try {
      return { ...result, output: shown(output, await this.keep(call, output)) };
    } catch (error) {
      const problem = problemOf(error);
      if (!problem) throw error;
      return {
        ...result,
        output: `${shorten(output)}\n(The whole of it could not be kept: ${problem.detail})`,
      };
    }
  }

  /** The result, and where what is no text is: files of the workspace, for its tools to look at. Images are shown, too. */
  async withFiles(call: CallPlace, result: ToolResult, files: readonly OutputFile[]): Promise<ToolResult> {
    const lines: string[] = [];
    const images: ToolImage[] = [];
    for (const { name, bytes } of files)
      try {
        const path = await this.keep(call, bytes, `-${name}`);
        lines.push(`The ${name} is in the file ${path}`);
        const mediaType = shownImageType(bytes);
        if (mediaType) images.push({ path, mediaType, data: bytes.toString('base64') });
      } catch (error) {
        const problem = problemOf(error);
        if (!problem) throw error;
        lines.push(`The ${name} could not be kept: ${problem.detail}`);
      }
    return { ...result, output: `${result.output}\n${lines.join('\n')}`, images };
  }

  private async keep(
    { actor, workspaceId, ...call }: CallPlace,
    output: string | Buffer,
    ending = '.txt',
  ): Promise<string> {
    const workspace = await this.workspaces.require(actor, 'workspace.read', workspaceId);
    const files = this.folders.open(workspace);
    const tool = call.tool.replaceAll(/[^\w-]/g, '_').slice(0, 64);
    const name = `${call.step}-${call.position + 1}-${tool}${ending.replaceAll(/[^\w.-]/g, '_')}`;
    const path = `${OUTPUTS}/${call.runId}/${name}`;
    const room = { bytes: Buffer.byteLength(output), files: await files.countMissing(path) };
    return this.quota.during(workspace.id, room, async () => {
      await ignore(files);
      const { entry } = await files.write(path, output);
      await prune(files, call.runId);
      return entry.path;
    });
  }
}

function shown(output: string, path: string): string {
  const head = output.slice(0, SHOWN / 2).toWellFormed();
  const tail = output.slice(-SHOWN / 2).toWellFormed();
  const lines = output.split('\n').length;
  const left = `… ${output.length - SHOWN} characters left out. All ${lines} lines are in the file ${path}: read parts of it with read_file (start_line, end_line), or look through it with grep, head or cut …`;
  return `${head}\n${left}\n${tail}`;
}

async function ignore(files: WorkspaceFs): Promise<void> {
  try {
    await files.write(`${FOLDER}/.gitignore`, '*\n', { ifNoneMatch: '*' });
  } catch (error) {
    const isThere =
      error instanceof WorkspaceFsError && ['exists', 'precondition_failed'].includes(error.code);
    if (!isThere) throw error;
  }
}

/** Run ids sort by time. Another worker, or a sandbox, may be at the same folder: what is gone is gone. */
async function prune(files: WorkspaceFs, runId: string): Promise<void> {
  const { entries } = await files.list(OUTPUTS, { limit: 1000 });
  const runs = entries.filter(({ path }) => path !== `${OUTPUTS}/${runId}`);
  for (const { path } of runs.slice(0, Math.max(0, runs.length - (MAX_RUNS - 1)))) {
    try {
      await files.remove(path, { recursive: true });
    } catch (error) {
      if (!(error instanceof WorkspaceFsError)) throw error;
    }
  }
}
