import { Inject, Injectable } from '@nestjs/common';
import type { SandboxResult } from '#libs/sandbox/index.js';
import { Field } from '../../platform/http/field.js';
import { SandboxWatch } from '../changes/sandbox-watch.js';
import { WorkspaceQuota } from '../changes/workspace-quota.js';
import { sandboxWriterFor } from '../changes/writer.js';
import { SandboxesService } from '../sandboxes/sandboxes.service.js';
import { WorkspacesStore } from '../workspaces/index.js';
import { failed, shorten, succeeded, type Tool, type ToolContext, type ToolResult } from './tool.js';
import { Yielding } from './yielding.js';

const LONGEST_SECONDS = 3600;
/** How many changed paths a result names; the workspace's log has them all. */
const MOST_NAMED = 100;

class BashInput {
  @Field.text('Script for bash', { min: 1, max: 100_000, example: 'ls -la' })
  command: string;

  @Field.integer('Seconds after which it is killed', {
    min: 1,
    max: LONGEST_SECONDS,
    optional: true,
    example: 60,
  })
  timeout_seconds?: number;
}

/** `bash`: a script in the workspace's sandbox. */
@Injectable()
export class BashTool implements Tool<BashInput> {
  readonly name = 'bash';
  readonly description =
    'Run a bash script in the sandbox of the workspace. The working directory is the workspace (/workspace); files ' +
    'written there stay, everything else is gone afterwards. There is no network. Each call is a new shell.';
  readonly effect = 'write';
  readonly permission = 'code.run';
  readonly input = BashInput;

  constructor(
    @Inject(WorkspacesStore) private readonly workspaces: WorkspacesStore,
    @Inject(SandboxesService) private readonly sandboxes: SandboxesService,
    @Inject(SandboxWatch) private readonly watch: SandboxWatch,
    @Inject(WorkspaceQuota) private readonly quota: WorkspaceQuota,
  ) {}

  fault(): Promise<string | null> {
    return this.sandboxes.fault();
  }

  async run(context: ToolContext, { command, timeout_seconds }: BashInput): Promise<ToolResult> {
    const workspace = await this.workspaces.require(context.actor, 'code.run', context.workspaceId);
    // Over its quota, a workspace runs nothing that could write more.
    await this.quota.require(workspace.id, { bytes: 0, files: 0 });
    const writer = sandboxWriterFor(context.actor);
    const early = new Yielding(context.yieldSignal);
    const run = () =>
      this.sandboxes.runScript(workspace, {
        script: command,
        caller:
          context.actions?.kind === 'run'
            ? { kind: 'run', id: context.actions.id }
            : { kind: 'tool', id: context.actor.id },
        seconds: timeout_seconds,
        signal: AbortSignal.any([context.signal, early.signal]),
        actions: context.actions,
        onOutput: chunk => context.onOutput?.(chunk.text),
      });
    const { result, changes } = await this.watch
      .around(workspace.id, writer, timeout_seconds ?? LONGEST_SECONDS, run)
      .finally(() => early.release());
    this.quota.forget(workspace.id);
    return {
      ...report(result, early.signal.aborted),
      changed: changes.slice(0, MOST_NAMED).map(({ path }) => path),
    };
  }
}

const ENDINGS: Record<Exclude<SandboxResult['ended_by'], 'exit'>, string> = {
  timeout: 'Killed: it took longer than allowed.',
  stopped: 'Killed: the run was stopped.',
  memory: 'Killed: it used more memory than allowed.',
  output: 'Killed: it wrote more output than allowed.',
};

const YIELDED =
  'Killed before its end, since a new message of the user has come in: this is its output so far. Nothing of it runs on; run it again if it is still wanted.';

function report({ output, exit_code, ended_by, truncated }: SandboxResult, hasYielded: boolean): ToolResult {
  const ending = ended_by === 'stopped' && hasYielded ? YIELDED : ended_by !== 'exit' && ENDINGS[ended_by];
  const notes = [
    ...(truncated ? ['Output beyond the limit is left out.'] : []),
    ...(ending ? [ending] : exit_code === 0 ? [] : [`Exit code ${exit_code}.`]),
  ];
  const text = [shorten(output).trimEnd(), ...notes].filter(Boolean).join('\n');
  return ended_by === 'exit' && exit_code === 0 ? succeeded(text || '(no output)') : failed(text);
}
