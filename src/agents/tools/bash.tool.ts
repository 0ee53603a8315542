import { Injectable } from '@nestjs/common';
import { inputSchemaOf } from '#libs/fields/index.js';
import type { OutputChunk } from '#libs/sandbox/index.js';
import { checked, Field } from '../../platform/dto/index.js';
import { sandboxWriterFor } from '../../workspaces/changes/index.js';
import { type VisibleWorkspace, WorkspacesStore } from '../../workspaces/core/index.js';
import { SandboxesService, type ScriptResult } from '../../workspaces/sandboxes/index.js';
import { RecordedScripts } from './recorded-scripts.js';
import { LONGEST_SECONDS, scriptReport } from './script-report.js';
import type { Tool, ToolContext, ToolResult } from './tool-provider.js';

/** The name of the tool by which commands are run. */
export const BASH = 'bash';

/** How many changed paths a result names; the workspace's log has them all. */
const MAX_NAMED = 100;

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
  readonly name = BASH;
  readonly title = 'Run a bash script';
  readonly description =
    'Run a bash script in the sandbox of the workspace, which starts in /workspace; only files written there stay for good. ' +
    'The calls of one agent run share a sandbox: working directory, variables, /tmp and background processes (`server &`) ' +
    'last until the run ends; exit, set -e and syntax errors end the script alone. There is no network but 127.0.0.1, ' +
    'unless the variable HTTPS_PROXY is set: then what it lets through.';
  readonly effect = 'write';
  readonly permission = 'code.run';
  readonly schema = inputSchemaOf(BashInput);

  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly sandboxes: SandboxesService,
    private readonly scripts: RecordedScripts,
  ) {}

  check(input: unknown): BashInput {
    return checked(BashInput, input);
  }

  fault(): Promise<string | null> {
    return this.sandboxes.fault();
  }

  async run(context: ToolContext, { command, timeout_seconds }: BashInput): Promise<ToolResult> {
    const workspace = await this.workspaces.require(context.actor, 'code.run', context.workspaceId);
    const early = new Yielding(context.yieldSignal);
    const { result, changes, refusal } = await this.scripts
      .run(
        workspace,
        {
          writer: sandboxWriterFor(context.actor),
          seconds: timeout_seconds ?? LONGEST_SECONDS,
          signal: AbortSignal.any([context.signal, early.signal]),
          shell: context.shell,
        },
        signal => this.runIn(workspace, { ...context, signal }, { command, timeout_seconds }),
      )
      .finally(() => early.release());
    return {
      ...scriptReport(result, {
        seconds: timeout_seconds,
        why: refusal ?? (early.signal.aborted ? YIELDED : undefined),
      }),
      changed: changes.slice(0, MAX_NAMED).map(({ path }) => path),
      newSession: result.session_new,
    };
  }

  private runIn(
    workspace: VisibleWorkspace,
    { shell, actions, actor, signal, onOutput }: ToolContext,
    { command: script, timeout_seconds: seconds }: BashInput,
  ): Promise<ScriptResult> {
    const hooks = { signal, onOutput: (chunk: OutputChunk) => onOutput?.(chunk.text) };
    const wallMs = seconds === undefined ? undefined : seconds * 1000;
    if (shell) return shell.run(workspace, { script, wallMs, ...hooks });
    const caller =
      actions?.kind === 'run'
        ? ({ kind: 'run', id: actions.id } as const)
        : ({ kind: 'tool', id: actor.id } as const);
    return this.sandboxes.runScript(workspace, { script, caller, actor, seconds, actions, ...hooks });
  }
}

const YIELDED =
  'Killed before its end, since a new message of the user has come in: this is its output so far. Nothing of it runs on; run it again if it is still wanted.';

/** A command that is asked to make way has that long to end by itself. */
const GRACE_MS = 3_000;

/** Ends a command that is asked to make way, unless it ends by itself soon. */
export class Yielding {
  private readonly over = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private readonly begin = () => {
    this.timer = setTimeout(() => this.over.abort(), GRACE_MS);
  };

  constructor(private readonly asked: AbortSignal | undefined) {
    if (asked?.aborted) this.begin();
    else asked?.addEventListener('abort', this.begin, { once: true });
  }

  /** Aborted when its time is over. */
  get signal(): AbortSignal {
    return this.over.signal;
  }

  release(): void {
    clearTimeout(this.timer);
    this.asked?.removeEventListener('abort', this.begin);
  }
}
