import { Injectable } from '@nestjs/common';
import { inputSchemaOf } from '#libs/fields/index.js';
import type { OutputChunk } from '#libs/sandbox/index.js';
import { checked, Field } from '../../platform/dto/index.js';
import { Invalid } from '../../platform/errors/index.js';
import { sandboxWriterFor } from '../../workspaces/changes/index.js';
import { type VisibleWorkspace, WorkspacesStore } from '../../workspaces/core/index.js';
import { RecordedScripts, SandboxesService, type ScriptResult } from '../../workspaces/sandboxes/index.js';
import { BackgroundCommands } from './background-commands.js';
import { startedReport } from './background-report.js';
import { LONGEST_SECONDS, scriptReport } from './script-report.js';
import type { Tool, ToolContext, ToolResult } from './tool-provider.js';

/** The name of the tool by which commands are run. */
export const BASH = 'bash';

/** How many changed paths a result names; the workspace's log has them all. */
const MAX_NAMED = 100;

class BashInput {
  @Field.text('Script for bash', { min: 1, max: 100_000, example: 'ls -la' }) command: string;

  @Field.integer('Seconds after which it is killed', {
    min: 1,
    max: LONGEST_SECONDS,
    optional: true,
    example: 60,
  })
  timeout_seconds?: number;

  @Field.boolean('Let it go on and answer at once with an id for bash_output and bash_kill', {
    optional: true,
    default: false,
    example: false,
  })
  run_in_background?: boolean;
}

/** `bash`: a script in the workspace's sandbox. */
@Injectable()
export class BashTool implements Tool<BashInput> {
  readonly name = BASH;
  readonly title = 'Run a bash script';
  readonly description =
    'Run a bash script in the sandbox of the workspace, which starts in /workspace; only files written there stay for good. ' +
    'The calls of one agent run, or of one session, share a sandbox: working directory, variables, /tmp and what runs in the ' +
    'background last until it ends; exit, set -e and syntax errors end the script alone. run_in_background is for servers, and ' +
    'for what takes long. There is no network but 127.0.0.1, unless the variable HTTPS_PROXY is set: then what it lets through.';
  readonly brief =
    'Run a bash script in the sandbox. Its folder, variables, /tmp and background commands last as long as this run.';
  readonly told = { command: '', timeout_seconds: '', run_in_background: 'For servers: gives an id at once' };
  readonly effect = 'write';
  readonly permission = 'code.run';
  readonly schema = inputSchemaOf(BashInput);

  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly sandboxes: SandboxesService,
    private readonly scripts: RecordedScripts,
    private readonly background: BackgroundCommands,
  ) {}

  check(input: unknown): BashInput {
    const bash = checked(BashInput, input);
    if (bash.run_in_background && bash.timeout_seconds !== undefined)
      throw new Invalid('timeout_seconds is not for run_in_background: end the command with bash_kill');
    return bash;
  }

  fault(): Promise<string | null> {
    return this.sandboxes.fault();
  }

  async run(context: ToolContext, input: BashInput): Promise<ToolResult> {
    const workspace = await this.workspaces.require(context.actor, 'code.run', context.workspaceId);
    if (input.run_in_background) return this.start(workspace, context, input.command);
    return this.recorded(workspace, context, input);
  }

  /** A command that goes on when this has returned. */
  private async start(
    workspace: VisibleWorkspace,
    context: ToolContext,
    command: string,
  ): Promise<ToolResult> {
    const { shell, runId } = context;
    if (!shell)
      throw new Invalid('run_in_background takes a session, in which the command goes on: name one');
    const { script, started } = await this.background.of(shell, runId).prepare(command);
    let begun: ReturnType<typeof started>;
    const result = await this.recorded(workspace, context, { command: script }, found => {
      begun = started(found);
      return { ...found, output: begun ? found.output.replace(begun.line, '') : found.output };
    });
    return begun && !result.isError
      ? { ...result, output: startedReport(begun, result.output), commandId: begun.id }
      : { ...result, isError: true, output: `The command could not be started. ${result.output}` };
  }

  private async recorded(
    workspace: VisibleWorkspace,
    context: ToolContext,
    { command, timeout_seconds }: BashInput,
    look = (result: ScriptResult) => result,
  ): Promise<ToolResult> {
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
      ...scriptReport(look(result), {
        seconds: timeout_seconds,
        tellsFolder: context.runId !== undefined,
        why: refusal ?? (early.signal.aborted ? YIELDED : undefined),
        changesUnknown: changes === null,
      }),
      changed: changes?.slice(0, MAX_NAMED).map(({ path }) => path),
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
